//! HTTPS for headsets: browsers give WebXR to secure pages only, so `--xr` makes a certificate on the spot.

use axum_server::tls_rustls::RustlsConfig;
use rcgen::{CertificateParams, DistinguishedName, DnType, KeyPair};
use rustls::ServerConfig;
use std::net::{IpAddr, UdpSocket};
use std::sync::Arc;

/// A self-signed certificate and its key, as PEM.
pub struct Certificate {
    /// The certificate.
    pub cert: String,
    /// Its key. It lives in memory only.
    pub key: String,
}

/// A certificate for these names and addresses, good until the year 2049 and for nobody else's trust.
pub fn certificate(names: &[String]) -> Result<Certificate, rcgen::Error> {
    let mut params = CertificateParams::new(names.to_vec())?;
    params.distinguished_name = DistinguishedName::new();
    params.distinguished_name.push(DnType::CommonName, "linkwork view");
    params.not_before = rcgen::date_time_ymd(2020, 1, 1);
    params.not_after = rcgen::date_time_ymd(2049, 12, 31);
    let key = KeyPair::generate()?;
    Ok(Certificate { cert: params.self_signed(&key)?.pem(), key: key.serialize_pem() })
}

/// The same without HTTP/2: the page gains nothing by it, and who is silent is noticed sooner without.
pub fn only_http1(config: &RustlsConfig) -> RustlsConfig {
    let mut inner = ServerConfig::clone(&config.get_inner());
    inner.alpn_protocols = vec![b"http/1.1".to_vec()];
    RustlsConfig::from_config(Arc::new(inner))
}

/// The address under which others on the network see this machine. No packet is sent: connecting a datagram socket
/// only chooses the interface.
pub fn own_address() -> Option<IpAddr> {
    let socket = UdpSocket::bind(("0.0.0.0", 0)).ok()?;
    socket.connect(("192.0.2.1", 9)).ok()?;
    let address = socket.local_addr().ok()?.ip();
    (!address.is_unspecified() && !address.is_loopback()).then_some(address)
}

#[cfg(test)]
mod tests {
    #[test]
    fn certificates_are_made_on_the_spot_and_differ() {
        let names = ["localhost".to_owned(), "127.0.0.1".to_owned()];
        let [a, b] = [0, 1].map(|_| super::certificate(&names).expect("a certificate"));
        assert!(a.cert.contains("BEGIN CERTIFICATE") && a.key.contains("PRIVATE KEY"));
        assert_ne!(a.key, b.key);
    }
}
