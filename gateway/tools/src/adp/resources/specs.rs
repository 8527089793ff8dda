//! The specification texts, in our own words, as this gateway keeps them.

pub(super) const ALL: [(&str, &str); 7] = [
    ("autonomy-taxonomy", include_str!("../specs/autonomy-taxonomy.md")),
    ("decision-classification", include_str!("../specs/decision-classification.md")),
    ("trace-format", include_str!("../specs/trace-format.md")),
    ("authorization-matrix", include_str!("../specs/authorization-matrix.md")),
    ("policy-schema", include_str!("../specs/policy-schema.md")),
    ("regulatory-mapping", include_str!("../specs/regulatory-mapping.md")),
    ("agent-registry", include_str!("../specs/agent-registry.md")),
];

pub(super) fn named(name: &str) -> Option<&'static str> {
    ALL.iter().find(|(known, _)| *known == name).map(|(_, text)| *text)
}
