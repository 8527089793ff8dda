-- Row security is a thing of Postgres. Here one process owns the file, there are no roles to act under, and a tenant's rows
-- are kept apart by the queries alone: every one of them names its tenant, and the contract suite walks them with two.

-- The newest traces of a tenant, over all its chains.
CREATE INDEX agent_traces_by_time ON agent_traces (organization_id, created_at);
