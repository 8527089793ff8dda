/*
 * Writes the tree of a statement as protobuf, in one pass.
 *
 * The library first builds a second tree out of protobuf's messages and then encodes that one, looking at each of the 271 kinds
 * that a node could be, for every node: more than half of the time that reading a statement takes. Here the parser's own tree
 * is written down at once. Which fields there are, and which number each has, is the library's knowledge and stays with it: its
 * own list of fields (pg_query_outfuncs_defs.c) is included below with other macros, and the numbers come from its pg_query.proto
 * (tree_numbers.h, written by the build). So the bytes say the same, only the order of fields within a message is turned round.
 *
 * Everything is written from the end of the buffer towards its start: a message is complete before its length is needed.
 */
#include "pg_query.h"
#include "pg_query_internal.h"

#include "postgres.h"
#include "access/relation.h"
#include "miscadmin.h"
#include "nodes/parsenodes.h"
#include "nodes/plannodes.h"
#include "nodes/value.h"
#include "utils/datum.h"

#include "tree_numbers.h"

/* Messages within messages: what the crate's decoder takes. Nothing that recurses here or there goes deeper than this. */
#define DEEPEST 100

/* The longest varint. */
#define VARINT 10

enum { WIRE_VARINT = 0, WIRE_BYTES = 2 };

/* The buffer is palloc'd, so that it goes with the memory context however the call ends. */
typedef struct
{
	char	   *start;
	char	   *at;
	char	   *end;
	int			depth;
} Out;

static void
grow(Out *out, size_t bytes)
{
	size_t		written = out->end - out->at;
	size_t		size = 2 * (size_t) (out->end - out->start) + bytes;
	char	   *larger = palloc(size);

	memcpy(larger + size - written, out->at, written);
	pfree(out->start);
	out->start = larger;
	out->end = larger + size;
	out->at = out->end - written;
}

static inline void
room(Out *out, size_t bytes)
{
	if (unlikely((size_t) (out->at - out->start) < bytes))
		grow(out, bytes);
}

static inline void
put_varint(Out *out, uint64 value)
{
	int			bytes = 1;
	char	   *at;

	for (uint64 rest = value >> 7; rest != 0; rest >>= 7)
		bytes++;
	room(out, VARINT);
	at = out->at -= bytes;
	for (; value >= 0x80; value >>= 7)
		*at++ = (char) (value | 0x80);
	*at = (char) value;
}

static inline void
put_key(Out *out, int number, int wire)
{
	put_varint(out, ((uint64) number << 3) | wire);
}

/* A number that is 0 is not written: that is what a missing one means. */
static inline void
put_number(Out *out, int number, uint64 value)
{
	if (value != 0)
	{
		put_varint(out, value);
		put_key(out, number, WIRE_VARINT);
	}
}

static inline void
put_bytes(Out *out, int number, const char *bytes, size_t length)
{
	room(out, length);
	out->at -= length;
	memcpy(out->at, bytes, length);
	put_varint(out, length);
	put_key(out, number, WIRE_BYTES);
}

static inline void
put_string(Out *out, int number, const char *string)
{
	if (string != NULL && *string != '\0')
		put_bytes(out, number, string, strlen(string));
}

/* Returns how much was written before the message, which `close_message` takes. */
static inline size_t
open_message(Out *out)
{
	if (++out->depth > DEEPEST)
		elog(ERROR, "parse tree is nested too deeply");
	return out->end - out->at;
}

static inline void
close_message(Out *out, int number, size_t before)
{
	put_varint(out, (size_t) (out->end - out->at) - before);
	put_key(out, number, WIRE_BYTES);
	out->depth--;
}

#define MESSAGE(number, write) \
	do { \
		size_t		__before = open_message(out); \
		write; \
		close_message(out, number, __before); \
	} while (0)

static void _outNode(Out *out, const void *obj);

/* From the last to the first, as all is written backwards. */
static void
put_nodes(Out *out, int number, const List *list)
{
	for (int at = list_length(list) - 1; at >= 0; at--)
		MESSAGE(number, _outNode(out, list_nth(list, at)));
}

/* Some kinds of fields are filled in long after the parser is done. Were one filled, it would be missing below. */
static void
not_of_a_parser(const char *field)
{
	elog(ERROR, "the parser is not known to fill %s", field);
}

#define OUT_TYPE(typename, typename_c) Out *

/* The one field whose name is a word of C, and is passed with a tail. */
#define NUMBER_Node_float_ NUMBER_Node_float

#define OUT_NODE(typename, typename_c, typename_underscore, typename_underscore_upcase, typename_cast, fldname) \
	MESSAGE(NUMBER_Node_##fldname, _out##typename_c(out, (const typename_cast *) obj))

/* Signed numbers are widened with their sign, as protobuf wants. */
#define WRITE_INT_FIELD(msgtype, outname, outname_json, fldname) \
	put_number(out, NUMBER_##msgtype##_##outname, (uint64) (int64) node->fldname)
#define WRITE_LONG_FIELD(msgtype, outname, outname_json, fldname) \
	put_number(out, NUMBER_##msgtype##_##outname, (uint64) (int64) node->fldname)
#define WRITE_UINT_FIELD(msgtype, outname, outname_json, fldname) \
	put_number(out, NUMBER_##msgtype##_##outname, (uint64) (uint32) node->fldname)
#define WRITE_UINT64_FIELD(msgtype, outname, outname_json, fldname) \
	put_number(out, NUMBER_##msgtype##_##outname, (uint64) node->fldname)
#define WRITE_BOOL_FIELD(msgtype, outname, outname_json, fldname) \
	put_number(out, NUMBER_##msgtype##_##outname, node->fldname ? 1 : 0)
#define WRITE_ENUM_FIELD(msgtype, enumtype, outname, outname_json, fldname) \
	put_number(out, NUMBER_##msgtype##_##outname, (uint64) (int64) _enumToInt##enumtype(node->fldname))

#define WRITE_CHAR_FIELD(msgtype, outname, outname_json, fldname) \
	if (node->fldname != 0) \
		put_bytes(out, NUMBER_##msgtype##_##outname, (const char *) &node->fldname, 1)
#define WRITE_STRING_FIELD(msgtype, outname, outname_json, fldname) \
	put_string(out, NUMBER_##msgtype##_##outname, node->fldname)

#define WRITE_FLOAT_FIELD(msgtype, outname, outname_json, fldname) \
	if (node->fldname != 0) \
		not_of_a_parser(#msgtype "." #outname)
#define WRITE_BITMAPSET_FIELD(msgtype, outname, outname_json, fldname) \
	if (node->fldname != NULL) \
		not_of_a_parser(#msgtype "." #outname)

#define WRITE_LIST_FIELD(msgtype, outname, outname_json, fldname) \
	put_nodes(out, NUMBER_##msgtype##_##outname, node->fldname)
#define WRITE_NODE_FIELD(msgtype, outname, outname_json, fldname) \
	MESSAGE(NUMBER_##msgtype##_##outname, _outNode(out, &node->fldname))
#define WRITE_NODE_PTR_FIELD(msgtype, outname, outname_json, fldname) \
	if (node->fldname != NULL) \
		MESSAGE(NUMBER_##msgtype##_##outname, _outNode(out, node->fldname))
#define WRITE_SPECIFIC_NODE_FIELD(msgtype, typename, typename_underscore, outname, outname_json, fldname) \
	MESSAGE(NUMBER_##msgtype##_##outname, _out##typename(out, &node->fldname))
#define WRITE_SPECIFIC_NODE_PTR_FIELD(msgtype, typename, typename_underscore, outname, outname_json, fldname) \
	if (node->fldname != NULL) \
		MESSAGE(NUMBER_##msgtype##_##outname, _out##typename(out, node->fldname))

/* What the library's list leaves to whoever includes it: lists and constants. */

static void
_outList(Out *out, const List *node)
{
	put_nodes(out, NUMBER_List_items, node);
}

static void
_outIntList(Out *out, const List *node)
{
	not_of_a_parser("IntList");
}

static void
_outOidList(Out *out, const List *node)
{
	not_of_a_parser("OidList");
}

static void
_outInteger(Out *out, const Integer *node)
{
	WRITE_INT_FIELD(Integer, ival, ival, ival);
}

static void
_outFloat(Out *out, const Float *node)
{
	WRITE_STRING_FIELD(Float, fval, fval, fval);
}

static void
_outBoolean(Out *out, const Boolean *node)
{
	WRITE_BOOL_FIELD(Boolean, boolval, boolval, boolval);
}

static void
_outString(Out *out, const String *node)
{
	WRITE_STRING_FIELD(String, sval, sval, sval);
}

static void
_outBitString(Out *out, const BitString *node)
{
	WRITE_STRING_FIELD(BitString, bsval, bsval, bsval);
}

static void
_outAConst(Out *out, const A_Const *node)
{
	WRITE_BOOL_FIELD(A_Const, isnull, isnull, isnull);
	WRITE_INT_FIELD(A_Const, location, location, location);
	if (node->isnull)
		return;
	switch (nodeTag(&node->val.node))
	{
		case T_Integer:
			WRITE_SPECIFIC_NODE_FIELD(A_Const, Integer, integer, ival, ival, val.ival);
			break;
		case T_Float:
			WRITE_SPECIFIC_NODE_FIELD(A_Const, Float, float, fval, fval, val.fval);
			break;
		case T_Boolean:
			WRITE_SPECIFIC_NODE_FIELD(A_Const, Boolean, boolean, boolval, boolval, val.boolval);
			break;
		case T_String:
			WRITE_SPECIFIC_NODE_FIELD(A_Const, String, string, sval, sval, val.sval);
			break;
		case T_BitString:
			WRITE_SPECIFIC_NODE_FIELD(A_Const, BitString, bit_string, bsval, bsval, val.bsval);
			break;
		default:
			not_of_a_parser("a constant of this kind");
	}
}

#include "pg_query_enum_defs.c"
#include "pg_query_outfuncs_defs.c"

/* A node that is not there is an empty message: lists have such holes. */
static void
_outNode(Out *out, const void *obj)
{
	check_stack_depth();
	if (obj == NULL)
		return;
	switch (nodeTag(obj))
	{
		#include "pg_query_outfuncs_conds.c"

		default:
			elog(ERROR, "node type %d is not known", (int) nodeTag(obj));
	}
}

static PgQueryProtobuf
written(const List *statements, size_t guess)
{
	PgQueryProtobuf tree;
	Out			buffer;
	Out		   *out = &buffer;

	buffer.start = palloc(guess);
	buffer.at = buffer.end = buffer.start + guess;
	buffer.depth = 0;
	for (int at = list_length(statements) - 1; at >= 0; at--)
		MESSAGE(NUMBER_ParseResult_stmts, _outRawStmt(out, (const RawStmt *) list_nth(statements, at)));
	put_number(out, NUMBER_ParseResult_version, PG_VERSION_NUM);

	/* The caller frees it, after the memory context is gone. */
	tree.len = buffer.end - buffer.at;
	tree.data = malloc(tree.len);
	if (tree.data == NULL)
		elog(ERROR, "out of memory");
	memcpy(tree.data, buffer.at, tree.len);
	return tree;
}

/* As the library hands out its errors: on the heap, for the caller to free. */
static PgQueryError *
caught(MemoryContext context)
{
	PgQueryError *error = calloc(1, sizeof(PgQueryError));
	ErrorData  *data;

	MemoryContextSwitchTo(context);
	data = CopyErrorData();
	FlushErrorState();
	error->message = strdup(data->message);
	error->filename = strdup(data->filename);
	error->funcname = strdup(data->funcname);
	error->lineno = data->lineno;
	error->cursorpos = data->cursorpos;
	return error;
}

/* pg_query_parse_protobuf_opts, and freed like what that gives. */
PgQueryProtobufParseResult
portreeve_tree(const char *input, int parser_options)
{
	PgQueryProtobufParseResult result = {0};
	MemoryContext context = pg_query_enter_memory_context();
	PgQueryInternalParsetreeAndError parsed = pg_query_raw_parse(input, parser_options);

	result.stderr_buffer = parsed.stderr_buffer;
	result.error = parsed.error;
	if (parsed.error == NULL)
	{
		PG_TRY();
		{
			result.parse_tree = written(parsed.tree, 1024 + 12 * strlen(input));
		}
		PG_CATCH();
		{
			result.error = caught(context);
		}
		PG_END_TRY();
	}
	pg_query_exit_memory_context(context);
	return result;
}
