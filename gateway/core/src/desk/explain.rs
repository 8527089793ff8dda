//! Why something was decided, and what would make it pass.
