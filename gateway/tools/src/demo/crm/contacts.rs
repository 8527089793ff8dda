//! The people of the demo. Nobody here exists: addresses are under `example.*`, telephone numbers in the range kept for
//! fiction, social security numbers withdrawn or reserved for advertising, card numbers the payment networks' test cards.

use serde_json::{Value, json};

/// What may be changed by a tool; the two numbers may not.
pub(super) const FIELDS: [&str; 4] = ["name", "company", "email", "phone"];

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Contact {
    pub(super) id: u64,
    name: String,
    company: String,
    email: String,
    phone: String,
    ssn: &'static str,
    card: &'static str,
}

impl Contact {
    /// `wanted` in lower case.
    pub(super) fn mentions(&self, wanted: &str) -> bool {
        [&self.name, &self.company, &self.email].iter().any(|text| text.to_lowercase().contains(wanted))
    }

    pub(super) fn shown(&self) -> Value {
        json!({
            "id": self.id,
            "name": self.name,
            "company": self.company,
            "email": self.email,
            "phone": self.phone,
            "ssn": self.ssn,
            "card": self.card,
        })
    }

    /// Puts in the new value and gives back the old one.
    pub(super) fn replace(&mut self, field: &str, value: &str) -> Option<String> {
        let place = match field {
            "name" => &mut self.name,
            "company" => &mut self.company,
            "email" => &mut self.email,
            "phone" => &mut self.phone,
            _ => return None,
        };
        Some(std::mem::replace(place, value.into()))
    }
}

pub(super) fn invented() -> Vec<Contact> {
    let rows = [
        (
            "Odalys Fenwright",
            "Tollhouse Mills",
            "odalys.fenwright@example.com",
            "+1 555 0101",
            "078-05-1120",
            "4111 1111 1111 1111",
        ),
        (
            "Benedek Quarrie",
            "Quarrie & Daughters",
            "benedek@example.org",
            "+1 555 0102",
            "219-09-9999",
            "5555 5555 5555 4444",
        ),
        (
            "Ingrith Saltmarsh",
            "Saltmarsh Ferries",
            "ingrith.s@example.net",
            "+1 555 0103",
            "987-65-4320",
            "3782 822463 10005",
        ),
        (
            "Tavish Lanternby",
            "Lanternby Lights",
            "tavish@example.com",
            "+1 555 0104",
            "987-65-4321",
            "6011 1111 1111 1117",
        ),
        (
            "Mirela Oakhollow",
            "Oakhollow Seeds",
            "mirela.oakhollow@example.org",
            "+1 555 0105",
            "987-65-4322",
            "4242 4242 4242 4242",
        ),
        (
            "Casimir Driftwell",
            "Driftwell Freight",
            "c.driftwell@example.net",
            "+1 555 0106",
            "987-65-4323",
            "5105 1051 0510 5100",
        ),
    ];
    let numbered = (1_u64..).zip(rows);
    let contact = |(id, (name, company, email, phone, ssn, card)): (
        u64,
        (&str, &str, &str, &str, &'static str, &'static str),
    )| Contact {
        id,
        name: name.into(),
        company: company.into(),
        email: email.into(),
        phone: phone.into(),
        ssn,
        card,
    };
    numbered.map(contact).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_in_it_can_be_somebody() {
        for contact in invented() {
            let host = contact.email.split_once('@').map(|(_, host)| host);
            assert!(matches!(host, Some("example.com" | "example.org" | "example.net")), "{contact:?}");
            assert!(contact.phone.contains(" 555 01"), "{contact:?}");
            assert!(
                matches!(contact.ssn, "078-05-1120" | "219-09-9999") || contact.ssn.starts_with("987-65-432"),
                "{contact:?}"
            );
        }
    }
}
