package approval

import (
	"path"
	"slices"
	"strings"

	"github.com/holdfast-dev/holdfast/internal/registries"
	"github.com/holdfast-dev/holdfast/policy"
)

// scopes returns the scopes to offer for a session decision: first the exact request, then a wider
// scope that a single rule can express. An override of a session's deny and a call outside the
// sandbox apply only once, so they have no scopes.
func scopes(q Request, home string) []Scope {
	if q.OnceOnly() {
		return nil
	}
	var out []Scope
	if q.single() {
		out = append(out, exactScope(q))
	}
	var wider Scope
	for i, r := range q.Requests {
		s, ok := widerScope(q, r, home)
		if !ok || i > 0 && s != wider { // no single rule covers the call
			return out
		}
		wider = s
	}
	if wider.Rule != "" {
		out = append(out, wider)
	}
	if s, ok := registryScope(q); ok {
		out = append(out, s)
	}
	return out
}

// registryScope returns a rule for all hosts of the package registry that the request is about.
func registryScope(q Request) (Scope, bool) {
	if len(q.Requests) != 1 || q.Requests[0].Operation != policy.OpConnect || q.Requests[0].Address != "" || q.Tool != "WebFetch" {
		return Scope{}, false
	}
	host, ok := hostWithoutPort(q.Requests[0].Resource)
	name := registries.RegistryOf(host)
	if !ok || name == "" {
		return Scope{}, false
	}
	return Scope{Rule: "WebFetch(domain:" + name + ")", Text: "the package registry: " + strings.Join(registries.Hosts(name), ", ")}, true
}

func exactScope(q Request) Scope {
	if len(q.Requests) == 0 {
		return Scope{Text: "every use of " + q.Tool}
	}
	r := q.Requests[0]
	if r.Opens() {
		return Scope{Text: sandboxOpenText(r)}
	}
	switch r.Operation {
	case policy.OpCommand:
		if r.Cwd == "" {
			return Scope{Text: "exactly this command"}
		}
		return Scope{Text: "exactly this command in " + r.Cwd}
	case policy.OpWrite:
		return Scope{Text: "every change of " + r.Resource + " by " + q.Tool}
	case policy.OpRead, policy.OpSecret:
		return Scope{Text: "reading " + r.Resource + " by " + q.Tool}
	case policy.OpExec:
		return Scope{Text: "running " + r.Resource + " by " + q.Tool + ", with any arguments"}
	case policy.OpConnect:
		if r.Address != "" {
			return Scope{Text: "connections of commands to exactly " + r.Resource + " at " + r.Address}
		}
		return Scope{Text: "connections of " + q.Tool + " to exactly " + r.Resource}
	case policy.OpMCP:
		return Scope{Text: "every call of " + r.Resource}
	}
	if r.Resource == "" {
		return Scope{Text: "every use of " + q.Tool}
	}
	return Scope{Text: q.Tool + " with exactly " + r.Resource}
}

// sandboxOpenText describes the sandbox restriction that a request lifts.
func sandboxOpenText(r policy.Request) string {
	if r.Operation == policy.OpWrite {
		return "commands may write " + r.Resource + " and what is in it"
	}
	return "commands may use " + r.Resource
}

// widerScope returns a rule that covers this request and similar ones.
func widerScope(q Request, r policy.Request, home string) (Scope, bool) {
	if r.Opens() || r.Address != "" { // a rule for the host name could later match another private address
		return Scope{}, false
	}
	switch r.Operation {
	case policy.OpCommand:
		prefix, ok := commandPrefix(r, home)
		return Scope{Rule: q.Tool + "(" + prefix + ":*)", Text: `every command that begins with "` + prefix + `"`}, ok
	case policy.OpWrite:
		return folderScope("Edit", "change every file in ", path.Dir(r.Resource), q.Cwd, home)
	case policy.OpRead:
		dir := path.Dir(r.Resource)
		if slices.Contains([]string{"Glob", "Grep", "LS"}, q.Tool) { // these are about a folder
			dir = r.Resource
		}
		return folderScope("Read", "read every file in ", dir, q.Cwd, home)
	case policy.OpConnect:
		host, ok := hostWithoutPort(r.Resource)
		if !ok || q.Tool != "WebFetch" {
			return Scope{}, false
		}
		return Scope{Rule: "WebFetch(domain:" + host + ")", Text: "everything on " + host}, true
	case policy.OpMCP:
		if !strings.HasPrefix(q.Tool, "mcp__") || strings.Count(q.Tool, "__") < 2 || !isASCIIWord(q.Tool, "_-.") {
			return Scope{}, false
		}
		return Scope{Rule: q.Tool, Text: "every call of " + r.Resource + ", whatever its input"}, true
	case policy.OpExec, policy.OpSecret:
	}
	return Scope{}, false
}

// folderScope returns a rule for a folder. It returns false if the folder contains the user's home
// or the session's folder, or if its name would act as a pattern.
func folderScope(tool, what, dir, cwd, home string) (Scope, bool) {
	holds := func(inner string) bool { return inner != "" && inner != cwd && within(inner, dir) }
	if !path.IsAbs(dir) || dir == "/" || holds(home) || cwd != dir && within(cwd, dir) || dir == home || strings.ContainsAny(dir, "*?[]{}()\\:!\x00\n") {
		return Scope{}, false
	}
	name := dir
	switch {
	case dir == cwd:
		name = "the session's folder"
	case within(dir, cwd):
		name = strings.TrimPrefix(dir, strings.TrimSuffix(cwd, "/")+"/")
	}
	return Scope{Rule: tool + "(/" + dir + "/**)", Text: what + name + " and below"}, true
}

// within reports whether p is dir or a path below it.
func within(p, dir string) bool {
	return p != "" && dir != "" && (p == dir || dir == "/" || strings.HasPrefix(p, dir+"/"))
}

// hostWithoutPort returns the name of a host without its port, and whether a rule can contain the
// name.
func hostWithoutPort(resource string) (string, bool) {
	host := resource
	if name, port, found := strings.Cut(resource, ":"); found && isASCIIWord(port, "") {
		host = name
	}
	host = strings.ToLower(strings.TrimSuffix(host, "."))
	return host, host != "" && isASCIIWord(host, ".-") && !strings.HasPrefix(host, ".")
}

// isASCIIWord reports whether s is not empty and consists only of ASCII letters, digits and the
// characters in others.
func isASCIIWord(s, others string) bool {
	for _, c := range s {
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', strings.ContainsRune(others, c):
		default:
			return false
		}
	}
	return s != ""
}
