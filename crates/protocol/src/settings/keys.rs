//! The keys that a configuration type accepts, found by deserializing it.

use std::cell::Cell;

use serde::de::value::Error;
use serde::de::{
    DeserializeOwned, DeserializeSeed, Deserializer, Error as _, IntoDeserializer, MapAccess, Visitor,
};
use serde::forward_to_deserialize_any;

/// The names of the fields of a struct, as serde reports them.
type Fields = &'static [&'static str];

/// Every key that `T` accepts, with dots between tables: `server.listen`. Lists and maps with arbitrary names are keys
/// without further keys below them. All fields of `T` and of the structs in it must be optional.
#[must_use]
pub fn keys<T: DeserializeOwned>() -> Vec<String> {
    let mut found = Vec::new();
    collect::<T>(&mut Vec::new(), &mut found);
    found
}

fn collect<T: DeserializeOwned>(path: &mut Vec<&'static str>, found: &mut Vec<String>) {
    let fields = Cell::new(None);
    // Always an error: the probe ends at a struct or at a plain value, and has recorded which.
    let _ = T::deserialize(Probe { path, fields: &fields });
    match fields.get() {
        None => found.push(path.join(".")),
        Some(fields) => {
            for &field in fields {
                path.push(field);
                collect::<T>(path, found);
                path.pop();
            }
        }
    }
}

/// Leads to the value at a path, and records its fields if it is a struct.
struct Probe<'a> {
    path: &'a [&'static str],
    fields: &'a Cell<Option<Fields>>,
}

impl<'de> Deserializer<'de> for Probe<'_> {
    type Error = Error;

    fn deserialize_any<V: Visitor<'de>>(self, _: V) -> Result<V::Value, Error> {
        Err(Error::custom("a plain value"))
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_some(self)
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        fields: Fields,
        visitor: V,
    ) -> Result<V::Value, Error> {
        let Some((field, below)) = self.path.split_first() else {
            self.fields.set(Some(fields));
            return Err(Error::custom("a struct"));
        };
        visitor.visit_map(OneField { field: Some(field), below: Probe { path: below, ..self } })
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit unit_struct
        newtype_struct seq tuple tuple_struct map enum identifier ignored_any
    }
}

/// A struct of which only this field is present.
struct OneField<'a> {
    field: Option<&'static str>,
    below: Probe<'a>,
}

impl<'de> MapAccess<'de> for OneField<'_> {
    type Error = Error;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, Error> {
        self.field.take().map(|field| seed.deserialize(field.into_deserializer())).transpose()
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, Error> {
        seed.deserialize(Probe { path: self.below.path, fields: self.below.fields })
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use serde::Deserialize;

    use super::*;

    #[derive(Default, Deserialize)]
    #[serde(default, deny_unknown_fields)]
    #[allow(dead_code)] // only its keys matter
    struct File {
        listen: Option<std::net::SocketAddr>,
        names: Vec<String>,
        inner: Inner,
        maybe: Option<Inner>,
        by_name: BTreeMap<String, Inner>,
    }

    #[derive(Default, Deserialize)]
    #[serde(default, deny_unknown_fields)]
    #[allow(dead_code)] // only its keys matter
    struct Inner {
        size: Option<String>,
        #[serde(rename = "other")]
        renamed: bool,
    }

    #[test]
    fn keys_are_found_in_nested_and_optional_structs_under_their_names_in_the_file() {
        let expected =
            ["listen", "names", "inner.size", "inner.other", "maybe.size", "maybe.other", "by_name"];
        assert_eq!(keys::<File>(), expected);
    }
}
