//! Linkwork: solids held together by constraints, closed loops included.
