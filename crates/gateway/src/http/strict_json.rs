//! Parses JSON strictly: a list in place of an object and a repeated field are errors. serde alone would read
//! a list as the fields of a struct, so that `"limits": [1]` would be accepted, and would use the last of two
//! fields of one name.
//!
//! The number of values is limited as well: a value of two bytes in a body takes hundreds of bytes in memory.

use std::cell::Cell;
use std::fmt;

use serde::de::value::{MapDeserializer, SeqDeserializer};
use serde::de::{
    Deserialize, DeserializeSeed, Deserializer, Error, IntoDeserializer, MapAccess, SeqAccess, Unexpected,
    Visitor,
};
use serde::forward_to_deserialize_any;
use serde_json::{Map, Value};

/// The maximum number of values in one body, including nested ones: more than any command line can have.
const MAX_VALUES: usize = 100_000;

/// A value that is parsed strictly.
pub(crate) struct Strict(pub(crate) Value);

impl<'de> Deserialize<'de> for Strict {
    fn deserialize<D: Deserializer<'de>>(reader: D) -> Result<Self, D::Error> {
        Once { left: &Cell::new(MAX_VALUES) }.deserialize(reader).map(Self)
    }
}

/// Builds a value and refuses a name that occurs twice in one object.
#[derive(Clone, Copy)]
struct Once<'a> {
    /// The number of values that may still follow.
    left: &'a Cell<usize>,
}

impl<'de> DeserializeSeed<'de> for Once<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, reader: D) -> Result<Value, D::Error> {
        let left = self.left.get().checked_sub(1);
        let left = left.ok_or_else(|| D::Error::custom(format!("more than {MAX_VALUES} values")))?;
        self.left.set(left);
        reader.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Once<'_> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_unit<E: Error>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_str<E: Error>(self, value: &str) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_string<E: Error>(self, value: String) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut list = Vec::new();
        while let Some(item) = items.next_element_seed(self)? {
            list.push(item);
        }
        Ok(list.into())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<Value, A::Error> {
        let mut object = Map::new();
        while let Some(name) = fields.next_key::<String>()? {
            if object.contains_key(&name) {
                let name: String = name.chars().take(64).collect();
                return Err(Error::custom(format!("duplicate field `{name}`")));
            }
            object.insert(name, fields.next_value_seed(self)?);
        }
        Ok(object.into())
    }
}

impl IntoDeserializer<'_, serde_json::Error> for Strict {
    type Deserializer = Self;

    fn into_deserializer(self) -> Self {
        self
    }
}

impl<'de> Deserializer<'de> for Strict {
    type Error = serde_json::Error;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Self::Error> {
        match self.0 {
            Value::Array(items) => visitor.visit_seq(SeqDeserializer::new(items.into_iter().map(Self))),
            Value::Object(fields) => visitor
                .visit_map(MapDeserializer::new(fields.into_iter().map(|(name, value)| (name, Self(value))))),
            plain => plain.deserialize_any(visitor),
        }
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Self::Error> {
        if self.0.is_array() {
            return Err(Error::invalid_type(Unexpected::Seq, &"an object"));
        }
        self.deserialize_any(visitor)
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Self::Error> {
        if self.0.is_null() { visitor.visit_none() } else { visitor.visit_some(self) }
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, Self::Error> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        name: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Self::Error> {
        self.0.deserialize_enum(name, variants, visitor)
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit unit_struct seq tuple
        tuple_struct map identifier ignored_any
    }
}

#[cfg(test)]
mod tests {
    use headwater_protocol::api::{SessionRequest, SignalRequest, StartRequest};
    use serde::de::DeserializeOwned;
    use serde_json::json;

    use super::*;

    fn read<T: DeserializeOwned>(value: Value) -> Result<T, String> {
        T::deserialize(Strict(value)).map_err(|error| error.to_string())
    }

    #[test]
    fn a_list_in_place_of_an_object_is_refused_at_any_depth() {
        for body in [
            json!([]),
            json!(["name"]),
            json!({"limits": []}),
            json!({"limits": [8_388_608]}),
            json!({"env": []}),
        ] {
            let error = read::<SessionRequest>(body.clone()).unwrap_err();
            assert!(error.contains("sequence"), "{body}: {error}");
        }
        assert!(read::<StartRequest>(json!({"shell": "a", "tty": [1, 2]})).is_err());
    }

    #[test]
    fn a_repeated_field_is_refused_at_any_depth() {
        for text in [r#"{"a":1,"a":1}"#, r#"{"env":{"A":"1","A":"2"}}"#, r#"[{"x":{"y":1,"y":2}}]"#] {
            let error = serde_json::from_str::<Strict>(text).map(|read| read.0).unwrap_err().to_string();
            assert!(error.contains("duplicate field"), "{text}: {error}");
        }
        let text = r#"{"a":[1,-2,0.5,true,null,"x",{"a":{}}],"b":18446744073709551615}"#;
        let read = serde_json::from_str::<Strict>(text).unwrap().0;
        assert_eq!(read, serde_json::from_str::<Value>(text).unwrap());
    }

    #[test]
    fn a_body_of_very_many_values_is_refused_before_they_are_in_memory() {
        let body = |items: &str, n: usize| format!("[{}0]", items.repeat(n));
        let read = |text: String| serde_json::from_str::<Strict>(&text).map(|read| read.0);
        let most = read(body("0,", MAX_VALUES - 2)).unwrap();
        assert_eq!(most.as_array().map(Vec::len), Some(MAX_VALUES - 1));
        for many in [body("0,", MAX_VALUES), body("[],", MAX_VALUES), body(r#"{"":0},"#, MAX_VALUES / 2)] {
            let error = read(many).unwrap_err().to_string();
            assert!(error.contains("more than 100000 values"), "{error}");
        }
    }

    #[test]
    fn everything_else_is_read_as_ever() {
        let start = json!({"argv": ["a", "b"], "env": {"A": "1"}, "stdin": {"text": "x"}, "tty": {"rows": 1, "cols": 2},
            "timeout_ms": 5, "limits": {"cpus": 0.5, "pids": null}, "children": "kill", "cwd": null, "merge_output": true});
        let strict: StartRequest = read(start.clone()).unwrap();
        assert_eq!(strict, serde_json::from_value(start).unwrap());
        for signal in [json!({"signal": 9}), json!({"signal": "int", "tree": true})] {
            assert_eq!(read::<SignalRequest>(signal.clone()), Ok(serde_json::from_value(signal).unwrap()));
        }
        for bad in [
            json!({"timeout_ms": 1.5}),
            json!({"timeout_ms": "5"}),
            json!({"odd": 1}),
            json!(null),
            json!("x"),
        ] {
            assert!(read::<StartRequest>(bad.clone()).is_err(), "{bad}");
        }
    }
}
