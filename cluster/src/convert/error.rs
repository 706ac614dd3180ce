//! Objects that cannot be converted: which object, which field, which value.

use schedlab_core::quantity::QuantityError;

/// Why an object has no input.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ConvertError {
    /// A field that must hold a quantity holds something else.
    #[error("{object}: {field}: \"{value}\" is not a quantity: {source}")]
    Quantity {
        /// Kind and name, as in `pod default/web`.
        object: String,
        /// Path of the field.
        field: String,
        /// What stands there.
        value: String,
        /// What is wrong with it.
        source: QuantityError,
    },
    /// A field has another type than the API gives it.
    #[error("{object}: {error}; write it as the API has it")]
    Shape {
        /// Kind and name.
        object: String,
        /// Which field, and what was expected.
        error: String,
    },
    /// A field the API requires is empty.
    #[error("{object}: {field} is empty; the API requires it")]
    Missing {
        /// Kind and name.
        object: String,
        /// Path of the field.
        field: &'static str,
    },
}
