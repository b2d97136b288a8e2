// Package egress is the only network path of sandboxed commands: a proxy that accepts HTTP, CONNECT and
// SOCKS5 on one listener, resolves names itself, and connects to the hosts that the rules allow.
//
//	listener in the sandbox's network ─► first byte ─► SOCKS5 │ CONNECT │ HTTP
//	                                                      │        │       │ each request
//	                                                      ▼        ▼       ▼
//	                        Session (one command) ◄─── host and port ─► Rules ─► Ask the user
//	                          refused connections           │ allowed       └ refused: 403, 0x02
//	                                                      ▼
//	                     name ─► addresses ─► public, or listed? ─► connect to that address
//	                                                      │
//	                         first bytes of a tunnel: TLS for this host │ HTTP: checked │ others pass
//
// The shortest use:
//
//	rules, err := egress.Compile(egress.Layer{Allow: []string{"*.example.com", "localhost:4873"}})
//	proxy, err := egress.New(rules, nil)
//	session := &egress.Session{ID: "command 7"}
//	err = proxy.Serve(ctx, listener, session) // until ctx ends
//	fmt.Println(session.Refusals())
//
// Every [Layer] must allow a host; a Deny entry of any layer overrides all Allow entries. An empty list
// allows nothing. The host is normalized first: lower case, without a trailing dot; a name may contain only
// ASCII letters, digits and hyphens (other scripts use punycode, as clients send them); "127.1", "0x7f000001"
// and "::ffff:127.0.0.1" are 127.0.0.1. The name is checked before any lookup.
//
// An entry without a port allows 80, 443 and every port from 1024 on, because registries use
// unusual ports. Lower ports belong to specific services (ssh, mail, DNS), so the entry must name
// the port: "github.com:22".
//
// "*" and "*.example.com" match only names, never addresses. A name may resolve only to public
// addresses. If it resolves to an address of this machine, of its network or of a cloud's metadata
// service, the same list must contain that address: "10.1.2.3", "10.0.0.0/8". "localhost" means the
// host's loopback addresses. The proxy connects to exactly the address that was checked.
//
// TLS must name the allowed host (SNI); a connection that names another host or none is closed. If
// a list contains the address itself, TLS to this address may name no host, or a host that the
// rules allow. The proxy cannot see what follows the ClientHello: a correct outer name can hide an
// inner one (ECH), and a server with many names may answer for another one. HTTP/1 inside a tunnel
// is checked request by request, as it is outside a tunnel. A connection that uses HTTP/2 without
// TLS is closed. All other protocols, such as ssh, pass unchanged. A tunnel without data for an
// hour is closed ([Limits].TunnelTime).
//
// A wildcard entry always has a risk: a command can encode data in the names that it looks up, and
// so send it to the owner of the domain. The number of different names per minute is limited, and
// each is logged.
//
// With [Options].HTTPUpstream or SOCKSUpstream, allowed connections go through a proxy on
// 127.0.0.1. That proxy receives names and resolves them, so it also decides which addresses they
// may have.
//
// The package is not a firewall: it does not see connections that do not use its listener. The
// network namespace of the commands ensures that there is no other path.
package egress
