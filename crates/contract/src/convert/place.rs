//! The folder of an in-place session.

use headwater_protocol::{Place, PlaceMode};

use super::invalid;
use crate::error::Fault;
use crate::v1;

impl From<&Place> for v1::Place {
    fn from(place: &Place) -> Self {
        let Place { folder, mode, writable } = place.clone();
        Self { folder, mode: mode.name().to_owned(), writable }
    }
}

impl TryFrom<v1::Place> for Place {
    type Error = Fault;

    /// There is no default mode: a caller that leaves it out gets neither walls nor the lack of them by accident.
    fn try_from(place: v1::Place) -> Result<Self, Fault> {
        let v1::Place { folder, mode, writable } = place;
        let known = PlaceMode::ALL.into_iter().find(|known| known.name() == mode);
        let mode = known.ok_or_else(|| invalid(format!("`{mode}` is not a mode of an in-place session")))?;
        Ok(Self { folder, mode, writable })
    }
}

#[cfg(test)]
mod tests {
    use headwater_protocol::SessionSpec;

    use super::*;

    #[test]
    fn a_place_survives_the_wire_and_has_no_default_mode() {
        for mode in PlaceMode::ALL {
            let place = Place { folder: "/a".into(), mode, writable: vec!["/b".into()] };
            let spec = SessionSpec { place: Some(place), ..SessionSpec::default() };
            assert_eq!(SessionSpec::try_from(v1::SessionSpec::from(&spec)), Ok(spec));
        }
        let unknown = v1::Place { folder: "/a".into(), ..v1::Place::default() };
        assert!(Place::try_from(unknown).is_err());
    }
}
