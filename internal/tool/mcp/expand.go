package mcp

import (
	"fmt"
	"iter"
	"maps"
	"net"
	"net/textproto"
	"slices"
	"strings"
)

// Expand replaces ${VAR} and ${VAR:-default} as Claude Code does. If a variable is not set and has
// no default, the error is an *[Error], because no incomplete command must run. Other dollar signs
// are not changed.
func (s *Server) Expand(lookup func(string) (string, bool)) (Server, error) {
	out := *s
	var wrong error
	fill := func(text string) string {
		filled, missing := expand(text, lookup)
		if missing != "" && wrong == nil {
			wrong = s.newError(fmt.Sprintf("the variable %s is not set", missing), fmt.Sprintf("set the variable, or write ${%s:-…} with a default", missing))
		}
		return filled
	}
	out.Command, out.Dir, out.URL = fill(s.Command), fill(s.Dir), fill(s.URL)
	out.Args = nil
	for _, a := range s.Args {
		out.Args = append(out.Args, fill(a))
	}
	out.Env, out.Headers = fillAll(s.Env, fill), fillAll(s.Headers, fill)
	if s.OAuth != nil {
		o := *s.OAuth
		o.ClientID, o.ClientSecret = fill(o.ClientID), fill(o.ClientSecret)
		out.OAuth = &o
	}
	if wrong != nil {
		return Server{}, wrong
	}
	if err := out.Check(); err != nil {
		return Server{}, err
	}
	return out, nil
}

func fillAll(m map[string]string, fill func(string) string) map[string]string {
	if m == nil {
		return nil
	}
	out := make(map[string]string, len(m))
	for k, v := range m {
		out[k] = fill(v)
	}
	return out
}

// expand replaces the variables in one text. It does not expand values again. missing is the first
// variable that is not set and has no default.
func expand(text string, lookup func(string) (string, bool)) (filled, missing string) {
	var b strings.Builder
	for {
		before, after, found := strings.Cut(text, "${")
		b.WriteString(before)
		if !found {
			return b.String(), missing
		}
		inside, rest, closed := strings.Cut(after, "}")
		name, fallback, has := strings.Cut(inside, ":-")
		if !closed || !isVariable(name) {
			b.WriteString("${")
			text = after
			continue
		}
		value, set := lookup(name)
		switch {
		case has && value == "":
			value = fallback
		case !set && missing == "":
			missing = name
		}
		b.WriteString(value)
		text = rest
	}
}

func isVariable(name string) bool {
	for i := range len(name) {
		c := name[i]
		if c != '_' && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (i == 0 || c < '0' || c > '9') {
			return false
		}
	}
	return name != ""
}

// variable looks up a variable in an environment.
func variable(environ []string) func(string) (string, bool) {
	return func(name string) (string, bool) {
		for _, entry := range slices.Backward(environ) {
			if value, ok := strings.CutPrefix(entry, name+"="); ok {
				return value, true
			}
		}
		return "", false
	}
}

func validHeader(name string) bool {
	if name == "" || strings.ContainsFunc(name, func(r rune) bool {
		return r <= ' ' || r >= 0x7f || strings.ContainsRune(`()<>@,;:\"/[]?={}`, r)
	}) {
		return false
	}
	switch textproto.CanonicalMIMEHeaderKey(name) {
	case "Host", "Content-Length", "Transfer-Encoding", "Connection", "Content-Type", "Accept",
		"Mcp-Session-Id", "Mcp-Protocol-Version", "Last-Event-Id":
		return false // these names are used by the protocol itself
	}
	return true
}

// isLoopback reports whether a host is this machine.
func isLoopback(host string) bool {
	if strings.EqualFold(host, "localhost") {
		return true
	}
	ip := net.ParseIP(host)
	return ip != nil && ip.IsLoopback()
}

func mapValues(m map[string]string) iter.Seq[string] { return maps.Values(m) }
func mapKeys[V any](m map[string]V) iter.Seq[string] { return maps.Keys(m) }
