-- What the built-in `supabase` server calls where SUPABASE_URL is the https:// address of a project: runs one statement that
-- reads and gives its rows. Install it once, in the SQL editor of the project, as its owner.
--
-- STABLE: the REST API runs it in a transaction that cannot write, and so does the language itself. SECURITY INVOKER: it
-- reads what the role of the key may read, and row security holds.
CREATE OR REPLACE FUNCTION exec_sql(query text) RETURNS json LANGUAGE plpgsql STABLE SECURITY INVOKER AS $$
DECLARE answer json;
BEGIN
    EXECUTE format(E'SELECT coalesce(json_agg(row_to_json(q)), ''[]'') FROM (\n%s\n) AS q', query) INTO answer;
    RETURN answer;
END $$;

-- Nobody may call it but the role of the key that the gateway holds. Change the name where yours is another.
REVOKE ALL ON FUNCTION exec_sql(text) FROM PUBLIC;
DO $$
DECLARE role text;
BEGIN
    FOREACH role IN ARRAY ARRAY['anon', 'authenticated'] LOOP
        IF EXISTS (SELECT FROM pg_roles WHERE rolname = role) THEN
            EXECUTE format('REVOKE ALL ON FUNCTION exec_sql(text) FROM %I', role);
        END IF;
    END LOOP;
    IF EXISTS (SELECT FROM pg_roles WHERE rolname = 'service_role') THEN
        GRANT EXECUTE ON FUNCTION exec_sql(text) TO service_role;
    END IF;
END $$;
