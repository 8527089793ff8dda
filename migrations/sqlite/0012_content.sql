-- What tenants look for in content takes effect while nodes run.

CREATE TRIGGER live_dlp_config_added AFTER INSERT ON dlp_config
BEGIN
    UPDATE live_revisions SET revision = revision + 1 WHERE name = 'live';
END;

CREATE TRIGGER live_dlp_config_changed AFTER UPDATE ON dlp_config
BEGIN
    UPDATE live_revisions SET revision = revision + 1 WHERE name = 'live';
END;

CREATE TRIGGER live_dlp_config_removed AFTER DELETE ON dlp_config
BEGIN
    UPDATE live_revisions SET revision = revision + 1 WHERE name = 'live';
END;
