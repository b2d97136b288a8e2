package egress

import (
	"fmt"
	"net"
	"net/netip"
	"strconv"

	"github.com/holdfast-dev/holdfast/internal/registries"
	"github.com/holdfast-dev/holdfast/internal/truncate"
)

// Refusal is a refused connection, with the number of attempts.
type Refusal struct {
	Host    string `json:"host"` // normalized, or as given if it cannot be parsed
	Port    int    `json:"port,omitempty"`
	Reason  string `json:"reason"`            // "no entry names it"
	Setting string `json:"setting,omitempty"` // SettingAllowed or SettingDenied; "" for a built-in rule
	Entry   string `json:"entry,omitempty"`   // the entry that decided
	Address string `json:"address,omitempty"` // the address that the host resolves to, if that is the reason
	Layer   int    `json:"layer"`             // which layer decided; -1: none
	Hint    string `json:"hint,omitempty"`    // how to allow the connection, if that is possible
	Count   int    `json:"count"`

	allow []string // the entries that would allow the connection
	asks  bool     // true if the user may allow the connection
}

// Allow returns the list entries that together would allow the connection; nil if no entries would.
func (f *Refusal) Allow() []string { return f.allow }

// addAddress adds a private address to the refusal of the name that resolves to it.
func (f *Refusal) addAddress(address string) {
	entry := net.JoinHostPort(address, strconv.Itoa(f.Port))
	f.Address = address
	f.Reason += ", and it resolves to the private address " + address
	f.Hint = fmt.Sprintf("to allow this, add %q and %q to %s", f.allow[0], entry, SettingAllowed)
	f.allow = append(f.allow, entry)
}

// Target returns the host and the port.
func (f *Refusal) Target() string {
	if f.Port == 0 {
		return f.Host
	}
	return net.JoinHostPort(f.Host, strconv.Itoa(f.Port))
}

// Text describes the refusal for the user and the model.
func (f *Refusal) Text() string {
	text := "the sandbox refused " + f.Target() + ": " + f.Reason
	if f.Setting != "" {
		text += " (" + f.Setting + ")"
	}
	text += "\n"
	if f.Hint != "" {
		text += "hint: " + f.Hint + "\n"
	}
	return text
}

func deniedRefusal(h Host, port, layer int, e *entry) Refusal {
	return Refusal{
		Host: h.String(), Port: port, Layer: layer, Setting: SettingDenied, Entry: e.text,
		Reason: fmt.Sprintf("it is denied by %q", e.text),
		Hint:   fmt.Sprintf("to allow this, remove %q from %s", e.text, SettingDenied),
	}
}

// unlistedRefusal returns the refusal of a host that no entry names, or that no entry names with this port.
func unlistedRefusal(h Host, port, layer int, otherPort bool) Refusal {
	f := Refusal{Host: h.String(), Port: port, Layer: layer, Setting: SettingAllowed, Reason: "no entry names it"}
	add := f.Host
	switch {
	case otherPort:
		f.Reason = fmt.Sprintf("no entry that names it is for port %d", port)
		add = f.Target()
	case h.IsAddr():
		f.Reason = "no entry names this address"
	case isLocal(h.Name):
		f.Reason, add = "no entry names this machine", f.Target()
	}
	if !(&entry{}).allowsPort(port) {
		add = f.Target()
	}
	if name := registries.RegistryOf(h.Name); name != "" && add == f.Host {
		add = name
	}
	f.allow = []string{add}
	f.Hint = fmt.Sprintf("to allow this, add %q to %s", add, SettingAllowed)
	return f
}

func privateRefusal(h Host, port, layer int, a netip.Addr) *Refusal {
	return &Refusal{
		allow: []string{net.JoinHostPort(a.String(), strconv.Itoa(port))},

		Host: h.String(), Port: port, Layer: layer, Setting: SettingAllowed, Address: a.String(),
		Reason: fmt.Sprintf("it resolves to the private address %s", a),
		Hint:   fmt.Sprintf("to allow this address, also add %q to %s", net.JoinHostPort(a.String(), strconv.Itoa(port)), SettingAllowed),
	}
}

// invalidRefusal returns the refusal of an invalid host, port or request.
func invalidRefusal(what string, err error) *Refusal {
	return &Refusal{Host: truncate.String(what, maxName), Layer: -1, Reason: err.Error()}
}
