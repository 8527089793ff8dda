-- What tenants look for in content takes effect while nodes run.

CREATE TRIGGER live AFTER INSERT OR UPDATE OR DELETE ON dlp_config
    FOR EACH STATEMENT EXECUTE FUNCTION portreeve_changed();
