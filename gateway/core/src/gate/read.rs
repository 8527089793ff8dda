//! Reads what callers submit, strictly, and says of everything that is wrong where it stands.

use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use super::refusal::{Fault, FaultCode};
use super::{Correlation, Id};

/// What was found wrong. Past this many, more would not help anybody.
pub struct Faults(Vec<Fault>);

const MOST: usize = 20;

impl Faults {
    pub fn new() -> Self {
        Self(Vec::new())
    }

    pub fn add(&mut self, path: impl Into<String>, code: FaultCode, what: impl Into<String>) {
        if self.0.len() < MOST {
            self.0.push(Fault { path: path.into(), code, what: what.into() });
        }
    }

    /// What was read, unless anything was wrong.
    pub fn settle<T>(mut self, read: Option<T>) -> Result<T, Vec<Fault>> {
        match read {
            Some(read) if self.0.is_empty() => Ok(read),
            _ => {
                if self.0.is_empty() {
                    self.add("", FaultCode::Field, "cannot be read");
                }
                Err(self.0)
            }
        }
    }
}

/// A value and where it stands.
pub struct Place<'v> {
    pub value: &'v Value,
    pub path: String,
}

/// An object whose keys have been checked.
pub struct Fields<'v> {
    map: &'v Map<String, Value>,
    pub path: String,
}

impl<'v> Place<'v> {
    pub fn new(value: &'v Value, path: impl Into<String>) -> Self {
        Self { value, path: path.into() }
    }

    fn wrong(&self, what: impl Into<String>, faults: &mut Faults) {
        faults.add(self.path.clone(), FaultCode::Field, what);
    }

    pub fn fields(self, allowed: &[&str], faults: &mut Faults) -> Option<Fields<'v>> {
        let Value::Object(map) = self.value else {
            self.wrong("must be an object", faults);
            return None;
        };
        let fields = Fields { map, path: self.path };
        for key in map.keys().filter(|key| !allowed.contains(&key.as_str())) {
            let known = allowed.join(", ");
            faults.add(fields.at(key), FaultCode::Field, format!("unknown field; known here are {known}"));
        }
        Some(fields)
    }

    pub fn list(self, faults: &mut Faults) -> Option<Vec<Place<'v>>> {
        let Value::Array(items) = self.value else {
            self.wrong("must be a list", faults);
            return None;
        };
        let place = |(index, value)| Place { value, path: format!("{}[{index}]", self.path) };
        Some(items.iter().enumerate().map(place).collect())
    }

    /// Each item read; none if one could not be.
    pub fn each<T>(self, faults: &mut Faults, mut read: impl FnMut(Self, &mut Faults) -> Option<T>) -> Option<Vec<T>> {
        // Not stopped at the first: all faults are told.
        let read: Vec<Option<T>> = self.list(faults)?.into_iter().map(|item| read(item, faults)).collect();
        read.into_iter().collect()
    }

    pub fn text(self, faults: &mut Faults) -> Option<String> {
        let text = self.value.as_str().map(str::to_owned);
        if text.is_none() {
            self.wrong("must be a text", faults);
        }
        text
    }

    pub fn texts(self, faults: &mut Faults) -> Option<Vec<String>> {
        self.each(faults, Place::text)
    }

    pub fn id(self, faults: &mut Faults) -> Option<Id> {
        let Some(text) = self.value.as_str() else {
            self.wrong("must be a text", faults);
            return None;
        };
        Id::try_from(text).map_err(|error| self.wrong(error.to_string(), faults)).ok()
    }

    pub fn correlation(self, faults: &mut Faults) -> Option<Correlation> {
        let Some(text) = self.value.as_str() else {
            self.wrong("must be a text", faults);
            return None;
        };
        Correlation::try_from(text).map_err(|error| self.wrong(error.to_string(), faults)).ok()
    }

    /// By the type's own reader, for the small ones that are strict themselves.
    pub fn typed<T: DeserializeOwned>(self, faults: &mut Faults) -> Option<T> {
        T::deserialize(self.value).map_err(|error| self.wrong(error.to_string(), faults)).ok()
    }
}

impl<'v> Fields<'v> {
    pub fn at(&self, key: &str) -> String {
        if self.path.is_empty() { key.into() } else { format!("{}.{key}", self.path) }
    }

    pub fn has(&self, key: &str) -> bool {
        self.map.contains_key(key)
    }

    pub fn required(&self, key: &str, faults: &mut Faults) -> Option<Place<'v>> {
        let value = self.map.get(key);
        if value.is_none() {
            faults.add(self.at(key), FaultCode::Field, "is missing");
        }
        value.map(|value| Place { value, path: self.at(key) })
    }

    /// Null counts as absent.
    pub fn optional(&self, key: &str) -> Option<Place<'v>> {
        self.map.get(key).filter(|value| !value.is_null()).map(|value| Place { value, path: self.at(key) })
    }

    /// An optional one that is wrong must not be taken for one that is absent.
    pub fn maybe<T>(
        &self,
        key: &str,
        faults: &mut Faults,
        read: impl FnOnce(Place<'v>, &mut Faults) -> Option<T>,
    ) -> Option<Option<T>> {
        match self.optional(key) {
            None => Some(None),
            Some(place) => read(place, faults).map(Some),
        }
    }

    pub fn id(&self, key: &str, faults: &mut Faults) -> Option<Id> {
        self.required(key, faults)?.id(faults)
    }

    pub fn text(&self, key: &str, faults: &mut Faults) -> Option<String> {
        self.required(key, faults)?.text(faults)
    }

    pub fn texts(&self, key: &str, faults: &mut Faults) -> Option<Vec<String>> {
        self.required(key, faults)?.texts(faults)
    }

    pub fn typed<T: DeserializeOwned>(&self, key: &str, faults: &mut Faults) -> Option<T> {
        self.required(key, faults)?.typed(faults)
    }

    pub fn correlation(&self, key: &str, faults: &mut Faults) -> Option<Option<Correlation>> {
        self.maybe(key, faults, Place::correlation)
    }
}
