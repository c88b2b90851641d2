//! What some methods leave open: how accelerations are integrated, how strongly gaps are fed back, which form distances
//! have. Scenes set it under `settings`, sessions by a command, the command line by options.

use crate::step::{Integrator, Method};
use serde::{Deserialize, Serialize};

/// A way to integrate accelerations.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Scheme {
    /// First order, explicit; gains energy.
    Euler,
    /// First order: velocities first, then positions with them.
    SemiImplicit,
    /// The classical Runge-Kutta scheme, fourth order.
    Rk4,
}

/// Words for [`Scheme`], in order.
pub const SCHEMES: &[&str] = &["euler", "semi-implicit", "rk4"];

impl Scheme {
    /// By its word.
    pub fn from_name(name: &str) -> Option<Self> {
        match name {
            "euler" => Some(Scheme::Euler),
            "semi-implicit" => Some(Scheme::SemiImplicit),
            "rk4" => Some(Scheme::Rk4),
            _ => None,
        }
    }

    fn integrator(self) -> Integrator {
        match self {
            Scheme::Euler => Integrator::Euler,
            Scheme::SemiImplicit => Integrator::SemiImplicit,
            Scheme::Rk4 => Integrator::Rk4,
        }
    }
}

/// Parameters of methods that have some; what is left out is the method's own choice.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Parameters {
    /// How accelerations are integrated, by `baumgarte` and `post-stabilization`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub integrator: Option<Scheme>,
    /// Damping of gaps in 1/s, of `baumgarte`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub alpha: Option<f64>,
    /// Stiffness of gaps in 1/s, of `baumgarte`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub beta: Option<f64>,
    /// `post-stabilization` projects velocities as well as positions.
    #[serde(skip_serializing_if = "is_off")]
    pub project_velocities: bool,
    /// Distance joints keep `|d|^2 - L^2` at zero instead of `|d| - L`.
    #[serde(skip_serializing_if = "is_off")]
    pub squared_distances: bool,
}

fn is_off(on: &bool) -> bool {
    !on
}

impl Parameters {
    /// Nothing is set.
    pub fn is_default(&self) -> bool {
        *self == Self::default()
    }

    /// The method with these parameters, as far as it has them.
    pub fn of(&self, method: Method) -> Method {
        let scheme = self.integrator.map(Scheme::integrator);
        match method {
            Method::Baumgarte { alpha, beta, integrator } => Method::Baumgarte {
                alpha: self.alpha.unwrap_or(alpha),
                beta: self.beta.unwrap_or(beta),
                integrator: scheme.unwrap_or(integrator),
            },
            Method::PostStabilization { integrator, velocities } => Method::PostStabilization {
                integrator: scheme.unwrap_or(integrator),
                velocities: velocities || self.project_velocities,
            },
            other => other,
        }
    }

    /// The first of these that a method does not have, as scenes spell it: `alpha` would change nothing in `variational`.
    pub fn foreign_to(&self, method: Method) -> Option<&'static str> {
        let baumgarte = matches!(method, Method::Baumgarte { .. });
        let stabilized = matches!(method, Method::PostStabilization { .. });
        let given = [
            (self.integrator.is_some() && !baumgarte && !stabilized, "integrator"),
            (self.alpha.is_some() && !baumgarte, "alpha"),
            (self.beta.is_some() && !baumgarte, "beta"),
            (self.project_velocities && !stabilized, "project-velocities"),
        ];
        given.into_iter().find(|g| g.0).map(|g| g.1)
    }
}
