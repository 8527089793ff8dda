"""Writes policies/sql/postgres.yaml from the catalogues of a real server: `functions.py postgres://..  > postgres.yaml`.

A function is listed when all of its forms are immutable or stable, and nobody has put it on the lists below; a few volatile
ones are added by hand. Whoever changes a list runs this again and reads the difference.
"""
import subprocess
import sys

# Stable or immutable by their own word, and still more than a computation.
REFUSED = """
current_setting pg_show_all_settings pg_config pg_settings_get_flags
database_to_xml database_to_xml_and_xmlschema database_to_xmlschema schema_to_xml schema_to_xml_and_xmlschema schema_to_xmlschema
txid_current pg_current_xact_id pg_tablespace_location pg_available_extensions pg_available_extension_versions
pg_extension_update_paths pg_event_trigger_ddl_commands pg_event_trigger_dropped_objects pg_event_trigger_table_rewrite_oid
pg_event_trigger_table_rewrite_reason ts_rewrite ts_stat pg_nextoid
""".split()

# Volatile by their own word: they only read, or only roll dice.
HARMLESS = "random gen_random_uuid clock_timestamp timeofday current_query".split()
HARMLESS_CATALOGUE = """
pg_blocking_pids pg_safe_snapshot_blocking_pids pg_collation_actual_version pg_database_collation_actual_version
pg_current_wal_lsn pg_current_wal_insert_lsn pg_current_wal_flush_lsn pg_is_in_recovery pg_is_wal_replay_paused
pg_get_wal_replay_pause_state pg_last_wal_receive_lsn pg_last_wal_replay_lsn pg_last_xact_replay_timestamp pg_last_committed_xact
pg_lock_status pg_prepared_xact pg_partition_ancestors pg_partition_tree pg_database_size pg_tablespace_size pg_xact_status
pg_xact_commit_timestamp pg_xact_commit_timestamp_origin txid_status pg_jit_available pg_notification_queue_usage
pg_get_multixact_members pg_get_wal_resource_managers pg_stat_have_stats pg_stat_get_xact_blocks_fetched
pg_stat_get_xact_blocks_hit pg_stat_get_xact_function_calls pg_stat_get_xact_function_self_time
pg_stat_get_xact_function_total_time pg_stat_get_xact_numscans pg_stat_get_xact_tuples_deleted pg_stat_get_xact_tuples_fetched
pg_stat_get_xact_tuples_hot_updated pg_stat_get_xact_tuples_inserted pg_stat_get_xact_tuples_returned
pg_stat_get_xact_tuples_updated pg_get_backend_memory_contexts pg_get_shmem_allocations pg_show_replication_origin_status
pg_isolation_test_session_is_blocked amvalidate pg_stat_get_recovery_prefetch
pg_input_is_valid pg_input_error_info
""".split()

# Reads a table that an argument names.
TABLE_READERS = {
    "table_to_xml": 0, "table_to_xmlschema": 0, "table_to_xml_and_xmlschema": 0, "pg_relation_size": 0, "pg_table_size": 0,
    "pg_total_relation_size": 0, "pg_indexes_size": 0, "to_regclass": 0, "pg_get_serial_sequence": 0, "pg_get_viewdef": 0,
    "row_security_active": 0, "pg_sequence_last_value": 0, "pg_relation_filenode": 0, "pg_relation_filepath": 0,
    "pg_relation_is_updatable": 0, "pg_relation_is_publishable": 0, "pg_column_is_updatable": 0,
}

# Of servers newer than the one that is asked, and what the newer grammar spells as syntax.
NEWER = {
    "newer": """any_value array_sample array_shuffle array_sort array_reverse casefold crc32 crc32c date_add date_subtract erf erfc
        gamma lgamma json json_array json_arrayagg json_exists json_object json_objectagg json_query json_scalar json_serialize
        json_table json_value json_array_elements jsonb_array_elements random_normal
        to_bin to_oct unicode_assigned unistr uuid_extract_timestamp uuid_extract_version uuidv4 uuidv7 xmltext
        range_agg range_intersect_agg""".split(),
    # Casts that are written like functions; those that look into the catalogue are in their own list.
    "types": """inet cidr macaddr bit varbit tsquery tsvector regconfig regdictionary uuid jsonb bytea real
        tid""".split(),
    # Of the extensions that come with PostgreSQL: they compute, and nothing else.
    # Of the extensions that come with PostgreSQL: they compute, and nothing else. Left out are names that somebody's own
    # function could well have (`delete`, `index`), and what reads a table or a file that a string names.
    "extensions": """similarity word_similarity strict_word_similarity show_trgm show_limit unaccent levenshtein
        levenshtein_less_equal soundex difference metaphone dmetaphone dmetaphone_alt daitch_mokotoff
        uuid_generate_v1 uuid_generate_v1mc uuid_generate_v3 uuid_generate_v4 uuid_generate_v5 uuid_nil uuid_ns_dns uuid_ns_oid
        uuid_ns_url uuid_ns_x500 citext normal_rand
        armor crypt dearmor decrypt decrypt_iv digest encrypt encrypt_iv gen_random_bytes gen_salt hmac pgp_armor_headers pgp_key_id
        pgp_pub_decrypt pgp_pub_decrypt_bytea pgp_sym_decrypt pgp_sym_decrypt_bytea
        akeys avals defined each exist exists_all exists_any fetchval hstore hstore_to_array hstore_to_json hstore_to_json_loose
        hstore_to_jsonb hstore_to_jsonb_loose hstore_to_matrix isdefined isexists populate_record skeys slice slice_array svals
        lca ltree2text nlevel subltree subpath text2ltree
        cube cube_coord cube_coord_llur cube_dim cube_distance cube_enlarge cube_inter cube_is_point cube_ll_coord cube_size
        cube_subset cube_union cube_ur_coord distance_chebyshev distance_taxicab
        earth earth_box earth_distance gc_to_sec geo_distance latitude ll_to_earth longitude sec_to_gc
        icount idx intset sort sort_asc sort_desc subarray uniq is_valid isbn isbn13 ismn ismn13 issn issn13 make_valid upc
        seg_center seg_lower seg_size seg_upper xpath_bool xpath_list xpath_nodeset xpath_number xpath_string""".split(),
    "vectors": """binary_quantize cosine_distance hamming_distance inner_product jaccard_distance l1_distance l2_distance l2_norm
        l2_normalize subvector vector_dims vector_norm""".split(),
    "buckets of time": "first histogram interpolate last locf time_bucket time_bucket_gapfill time_bucket_ng".split(),
    # PostGIS: what computes with shapes. Nothing that asks a table for its extent, and nothing of rasters, which may be files.
    "places": """geography geometry st_3dclosestpoint st_3ddfullywithin st_3ddistance st_3ddwithin st_3dextent st_3dintersects
        st_3dlength st_3dlineinterpolatepoint st_3dlongestline st_3dmakebox st_3dmaxdistance st_3dperimeter st_3dshortestline
        st_addmeasure st_addpoint st_affine st_angle st_area st_asbinary st_asencodedpolyline st_asewkb st_asewkt st_asflatgeobuf
        st_asgeobuf st_asgeojson st_asgml st_ashexewkb st_askml st_aslatlontext st_asmarc21 st_asmvt st_asmvtgeom st_assvg st_astext
        st_astwkb st_asx3d st_azimuth st_bdmpolyfromtext st_bdpolyfromtext st_boundary st_boundingdiagonal st_box2dfromgeohash
        st_buffer st_buildarea st_centroid st_chaikinsmoothing st_cleangeometry st_clipbybox2d st_closestpoint
        st_closestpointofapproach st_clusterdbscan st_clusterintersecting st_clusterintersectingwin st_clusterkmeans
        st_clusterwithin st_clusterwithinwin st_collect st_collectionextract st_collectionhomogenize st_combinebbox st_concavehull
        st_contains st_containsproperly st_convexhull st_coorddim st_coverageinvalidedges st_coveragesimplify st_coverageunion
        st_coveredby st_covers st_cpawithin st_crosses st_curven st_curvetoline st_delaunaytriangles st_dfullywithin st_difference
        st_dimension st_disjoint st_distance st_distancecpa st_distancesphere st_distancespheroid st_dump st_dumppoints st_dumprings
        st_dumpsegments st_dwithin st_endpoint st_envelope st_equals st_expand st_extent st_exteriorring st_filterbym
        st_flipcoordinates st_force2d st_force3d st_force3dm st_force3dz st_force4d st_forcecollection st_forcecurve
        st_forcepolygonccw st_forcepolygoncw st_forcerhr st_forcesfs st_frechetdistance st_fromflatgeobuf st_generatepoints
        st_geogfromtext st_geogfromwkb st_geographyfromtext st_geohash st_geomcollfromtext st_geometricmedian st_geometryfromtext
        st_geometryn st_geometrytype st_geomfromewkb st_geomfromewkt st_geomfromgeohash st_geomfromgeojson st_geomfromgml
        st_geomfromkml st_geomfromtext st_geomfromtwkb st_geomfromwkb st_gmltosql st_hasarc st_hasm st_hasz st_hausdorffdistance
        st_hexagon st_hexagongrid st_interiorringn st_interpolatepoint st_intersection st_intersects st_inversetransformpipeline
        st_isclosed st_iscollection st_isempty st_ispolygonccw st_ispolygoncw st_isring st_issimple st_isvalid st_isvaliddetail
        st_isvalidreason st_isvalidtrajectory st_largestemptycircle st_length st_length2d st_length2dspheroid st_lengthspheroid
        st_letters st_linecrossingdirection st_lineextend st_linefromencodedpolyline st_linefrommultipoint st_linefromtext
        st_linefromwkb st_lineinterpolatepoint st_lineinterpolatepoints st_linelocatepoint st_linemerge st_linestringfromwkb
        st_linesubstring st_linetocurve st_locatealong st_locatebetween st_locatebetweenelevations st_longestline st_m st_makebox2d
        st_makeenvelope st_makeline st_makepoint st_makepointm st_makepolygon st_makevalid st_maxdistance st_maximuminscribedcircle
        st_memsize st_memunion st_mlinefromtext st_mpointfromtext st_mpolyfromtext st_minimumboundingcircle
        st_minimumboundingradius st_minimumclearance st_minimumclearanceline st_multi st_ndims st_node st_normalize st_npoints
        st_nrings st_numcurves st_numgeometries st_numinteriorring st_numinteriorrings st_numpatches st_numpoints st_offsetcurve
        st_orderingequals st_orientedenvelope st_overlaps st_patchn st_perimeter st_perimeter2d st_point st_pointfromgeohash
        st_pointfromtext st_pointfromwkb st_pointinsidecircle st_pointm st_pointn st_pointonsurface st_points st_pointz st_pointzm
        st_polyfromtext st_polygon st_polygonfromtext st_polygonize st_polygonn st_project st_quantizecoordinates st_reduceprecision
        st_relate st_relatematch st_removeirrelevantpointsforview st_removepoint st_removerepeatedpoints st_removesmallparts
        st_reverse st_rotate st_rotatex st_rotatey st_rotatez st_scale st_scroll st_segmentize st_seteffectivearea st_setpoint
        st_setsrid st_sharedpaths st_shiftlongitude st_shortestline st_simplify st_simplifypolygonhull st_simplifypreservetopology
        st_simplifyvw st_snap st_snaptogrid st_split st_square st_squaregrid st_srid st_startpoint st_subdivide st_summary st_swapordinates
        st_symdifference st_symmetricdifference st_tileenvelope st_touches st_transform st_transformpipeline st_translate
        st_transscale st_triangulatepolygon st_unaryunion st_union st_voronoilines st_voronoipolygons st_within st_wkbtosql
        st_wkttosql st_wrapx st_x st_xmax st_xmin st_y st_ymax st_ymin st_z st_zmax st_zmflag st_zmin""".split(),
}

# Of extensions, and what turns a plain text into a table or a function: no column of anybody's is called so.
NEVER_TOO = """
dblink* crosstab* connectby pgrowlocks pgstat* pg_stat_statements_reset postgres_fdw_disconnect* bt_index_check bt_index_parent_check
bt_metap bt_page_items brin_metapage_info brin_page_type brin_revmap_data fsm_page_contents gin_leafpage_items gin_metapage_info
gin_page_opaque_info gist_page_items_bytea gist_page_opaque_info hash_metapage_info hash_page_items hash_page_stats hash_page_type
heap_page_items page_header verify_heapam pg_prewarm pg_visibility* pg_truncate_visibility_map pg_freespace pg_relpages
pg_check_frozen pg_check_visible pg_get_wal_* set_limit ssl_client_dn_field ssl_issuer_field xpath_table
query_to_xml* cursor_to_xml* schema_to_xml* database_to_xml* set_config lastval setval lo_export lo_put loread lowrite
regclassin regcollationin regconfigin regdictionaryin regnamespacein regoperatorin regoperin regprocedurein regprocin regrolein
regtypein
""".split()

# A letter before the names: their first type of argument tells the group they are shown in.
QUERY = """
select p.proname,
       bool_or(p.provolatile = 'v'),
       bool_or(p.prokind = 'p'),
       bool_or(p.prorettype in ('internal'::regtype, 'trigger'::regtype, 'event_trigger'::regtype, 'cstring'::regtype,
                 'language_handler'::regtype, 'index_am_handler'::regtype, 'table_am_handler'::regtype, 'fdw_handler'::regtype,
                 'tsm_handler'::regtype, 'void'::regtype)
               or 'internal'::regtype = any (p.proargtypes) or 'cstring'::regtype = any (p.proargtypes)),
       bool_or(p.proname like '%validator'),
       min(case when p.prokind in ('a', 'w') then 'aggregates and windows'
            when coalesce(p.proargtypes[0], 0)::regtype::text in ('text', 'character', 'name', 'bytea', '"char"') then 'text'
            when coalesce(p.proargtypes[0], 0)::regtype::text ~ '^(date|time|interval)' then 'time'
            when coalesce(p.proargtypes[0], 0)::regtype::text ~ '^(smallint|integer|bigint|numeric|real|double|money)' then 'numbers'
            when coalesce(p.proargtypes[0], 0)::regtype::text ~ '^(json|xml)' then 'json and xml'
            when coalesce(p.proargtypes[0], 0)::regtype::text ~ '^(ts|reg)' then 'text search'
            when coalesce(p.proargtypes[0], 0)::regtype::text ~ '^(any|.*range|.*\\[\\])' then 'arrays and ranges'
            when coalesce(p.proargtypes[0], 0)::regtype::text ~ '^(point|box|circle|line|lseg|path|polygon)' then 'geometry'
            when coalesce(p.proargtypes[0], 0)::regtype::text ~ '^(inet|cidr|macaddr)' then 'network'
            else 'other' end)
from pg_proc p where p.pronamespace = 'pg_catalog'::regnamespace group by 1 order by 1
"""
OPERATORS = """
<% %> <<% %>> <->> <<-> <<<-> <->>> <=> <#> <+> <~> <%> <@> ~> #= %% %# ?<@ ?@ ?@> ?~ ^<@ ^? ^@> ^~ &&& ~~= ~== <<#>> <<->> |=| @>> <<@
""".split()
# Whatever takes one argument, or can do with one, and can be called from a query at all.
CALLABLE = """
select distinct p.proname from pg_proc p
where p.pronamespace = 'pg_catalog'::regnamespace and p.prokind = 'f' and p.pronargs >= 1 and p.pronargs - p.pronargdefaults <= 1
  and not ('internal'::regtype = any (p.proargtypes) or 'cstring'::regtype = any (p.proargtypes))
  and p.prorettype not in ('trigger'::regtype, 'internal'::regtype, 'cstring'::regtype) and p.proname = lower(p.proname)
"""
OF_CATALOGUES = ("pg_", "has_", "to_reg", "txid_")
OF_CATALOGUES_BY_NAME = """
col_description obj_description shobj_description format_type aclexplode acldefault makeaclitem oidvectortypes current_schemas
getdatabaseencoding getpgusername inet_client_addr inet_client_port inet_server_addr inet_server_port amvalidate regclass
get_current_ts_config ts_parse ts_token_type regcollation regnamespace regoper regoperator regproc regprocedure regrole regtype
regclasssend regcollationsend regnamespacesend regopersend regoperatorsend regproceduresend regprocsend regrolesend regtypesend
""".split()
NOT_OF_CATALOGUES = """
pg_typeof pg_column_size pg_column_compression pg_collation_for pg_client_encoding pg_char_to_encoding pg_encoding_to_char
pg_encoding_max_length pg_size_pretty pg_size_bytes pg_lsn
""".split()


def ask(server, query):
    done = subprocess.run(["psql", server, "-AtqX", "-F", "\t", "-c", query], capture_output=True, text=True, check=True)
    return [line.split("\t") for line in done.stdout.splitlines()]


def written(name, names):
    """A name is quoted where YAML would take it for something else."""
    out, line = [], "    " if name is None else f"  {name}: ["
    indent = " " * 4
    for each in sorted(set(names)):
        shown = f'"{each}"' if not each.replace("_", "").isalnum() or each in ("null", "true", "false", "on", "off", "y", "n", "yes", "no") else each
        if len(line) + len(shown) > 122:
            out.append(line.rstrip())
            line = indent
        line += shown + ", "
    out.append(line.rstrip().rstrip(",") + "]")
    return "\n".join(out)


def main():
    server = sys.argv[1]
    groups, catalogue = {}, list(HARMLESS_CATALOGUE)
    for name, volatile, procedure, internal, validator, group in ask(server, QUERY):
        if "t" in (volatile, procedure, internal, validator) or name in REFUSED or name in TABLE_READERS:
            continue
        if name != name.lower():
            continue
        own = name.startswith(OF_CATALOGUES) or name in OF_CATALOGUES_BY_NAME
        if own and name not in NOT_OF_CATALOGUES and not name.startswith("pg_lsn"):
            catalogue.append(name)
        else:
            groups.setdefault(group, []).append(name)
    groups.setdefault("other", []).extend(HARMLESS)
    catalogue += [name for name in OF_CATALOGUES_BY_NAME if name.startswith("reg")]
    groups.update(NEWER)
    known = {name for names in groups.values() for name in names}
    catalogue = [name for name in catalogue if name not in known]
    print("""# What a query of PostgreSQL may call. Everything that is not named here is refused; README.md says why and what can be switched.
# Written by tests/corpora/sql/functions.py from the catalogues of PostgreSQL 15, and read over: functions that do not change
# anything, of pg_catalog or of the extensions that come with it.

# SHOW: allow or deny. Under a list of tables it is refused in any case.
show: allow
# EXPLAIN: allow (with ANALYZE only of reads), plan (never ANALYZE), deny.
explain: allow

functions:""")
    for group in sorted(groups):
        print(written(f'"{group}"' if " " in group else group, groups[group]))
    print("""
# With any other number of arguments it runs a query that is given as a string.
arity:
  ts_rewrite: [3, 3]

# Reads a table that an argument names, counted from 0. Under a list of tables it must be a constant, and listed.
table_readers:""")
    for name, at in sorted(TABLE_READERS.items()):
        print(f"  {name}: {at}")
    print("\n# Tells of the database itself: refused under a list of tables.\ncatalogue_functions: [")
    print(written(None, catalogue))
    print("""
# What is listed nowhere else and could be called as if it were a column: `('s'::regclass).nextval`. A `*` is any ending.
never_columns: [""")
    listed = known | set(catalogue) | set(TABLE_READERS)
    print(written(None, [row[0] for row in ask(server, CALLABLE) if row[0] not in listed] + NEVER_TOO))
    operators = [row[0] for row in ask(server, "select distinct oprname from pg_operator where oprnamespace = 'pg_catalog'::regnamespace")]
    print("\n# Of pg_catalog, and of extensions: pg_trgm, pgvector, hstore, ltree, cube, earthdistance, PostGIS.\noperators: [")
    print(written(None, operators + OPERATORS))
    print("""
# Refused under a list of tables unless listed there.
catalogues: ["pg_catalog.*", "information_schema.*", "pg_toast*.*", "pg_temp*.*", "pg_*"]""")


main()
