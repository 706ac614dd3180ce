//! How many: `count`, or `countParam` which wins over it.

use crate::params::ParamRef;
use crate::schema::SchemaError;
use crate::yaml::Fields;

/// A number written as it is or as a param. The param wins, as upstream.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Count {
    /// `count`.
    pub literal: Option<i64>,
    /// `countParam`.
    pub param: Option<ParamRef>,
}

impl Count {
    /// Reads `count` and `countParam`; both may be absent.
    pub(super) fn optional(fields: &Fields<'_>) -> Result<Self, SchemaError> {
        Self::read(fields, "count", "countParam")
    }

    /// Reads `count` and `countParam`, of which one must be there.
    ///
    /// Differs: upstream takes an op without either as an op that creates nothing (`broken_ops_are_refused`).
    pub(super) fn required(fields: &Fields<'_>) -> Result<Self, SchemaError> {
        match Self::optional(fields)? {
            Self { literal: None, param: None } => {
                Err(fields.missing("count", "write `count: 10`, or `countParam: $name`"))
            }
            count => Ok(count),
        }
    }

    /// Reads a number and its param under other names.
    pub(super) fn read(
        fields: &Fields<'_>,
        literal: &'static str,
        param: &'static str,
    ) -> Result<Self, SchemaError> {
        let count = Self { literal: fields.integer(literal)?, param: fields.param(param)? };
        match count.literal {
            Some(value) if value < 0 => Err(fields.bad_value(literal, value, "write 0 or more")),
            _ => Ok(count),
        }
    }
}
