package settings

import (
	"fmt"
	"maps"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
)

// ExpandMCP returns a server with every ${VAR} and ${VAR:-default} replaced by its value in getenv,
// and checks it again against the managed settings. The error says which variable is not set, which
// setting excludes the server, or that the server is not approved.
func (s *Settings) ExpandMCP(srv *MCPServer, getenv func(name string) (string, bool)) (MCPServer, error) {
	out := *srv
	if srv.Status != MCPApproved {
		return out, mcpError(srv, "%s: %s", srv.Status, srv.Reason)
	}
	var missing []string
	fill := func(text string) string {
		full, unset := expand(text, getenv)
		missing = append(missing, unset...)
		return full
	}
	out.Command, out.URL, out.Dir = fill(srv.Command), fill(srv.URL), fill(srv.Dir)
	out.Args = slices.Clone(srv.Args)
	for i := range out.Args {
		out.Args[i] = fill(out.Args[i])
	}
	each := func(from map[string]string) map[string]string {
		to := maps.Clone(from)
		for _, name := range slices.Sorted(maps.Keys(to)) {
			to[name] = fill(to[name])
		}
		return to
	}
	out.Env, out.Headers = each(srv.Env), each(srv.Headers)
	if srv.OAuth != nil {
		login := *srv.OAuth
		login.ClientID, login.ClientSecret = fill(login.ClientID), fill(login.ClientSecret)
		out.OAuth = &login
	}
	if len(missing) > 0 {
		return out, mcpError(srv, "the variable %s is not set", strings.Join(slices.Compact(missing), ", "))
	}
	if out.Type != MCPStdio {
		u, err := url.Parse(out.URL)
		if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil {
			return out, mcpError(srv, "its url is not a valid server URL")
		}
	}
	for name, value := range out.Headers {
		if strings.ContainsAny(value, "\r\n\x00") {
			return out, mcpError(srv, "the header %s contains a line break", name)
		}
	}
	if out.Type == MCPStdio {
		out.Dir = s.mcpDir(&out)
	}
	if why := s.mcp.whyForbidden(&out); why != "" {
		return out, mcpError(srv, "%s", why)
	}
	return out, nil
}

// mcpDir returns the folder in which a server's program starts; default the project.
func (s *Settings) mcpDir(srv *MCPServer) string {
	base := srv.Folder
	if !srv.FromFolder() {
		base = s.Project
	}
	switch {
	case srv.Dir == "":
		return s.Project
	case filepath.IsAbs(srv.Dir):
		return filepath.Clean(srv.Dir)
	}
	return filepath.Join(base, srv.Dir)
}

func mcpError(srv *MCPServer, format string, args ...any) error {
	return fmt.Errorf("MCP server %s: "+format, append([]any{srv.Name}, args...)...)
}

// expand replaces ${VAR} and ${VAR:-default}. Everything else is kept, including $VAR and an
// unclosed "${". The result missing has the names of the variables that are not set.
func expand(text string, getenv func(string) (string, bool)) (full string, missing []string) {
	var b strings.Builder
	for {
		start := strings.Index(text, "${")
		if start < 0 {
			break
		}
		end := strings.IndexByte(text[start:], '}')
		if end < 0 {
			break
		}
		name, other, hasOther := strings.Cut(text[start+2:start+end], ":-")
		if !variableName().MatchString(name) {
			b.WriteString(text[:start+2])
			text = text[start+2:]
			continue
		}
		b.WriteString(text[:start])
		value, set := getenv(name)
		switch {
		case set && (value != "" || !hasOther): // as in a shell
			b.WriteString(value)
		case hasOther:
			b.WriteString(other)
		default:
			missing = append(missing, name)
		}
		text = text[start+end+1:]
	}
	b.WriteString(text)
	return b.String(), missing
}

// EnvReads lists the environment variables that the server gets through ${VAR}.
func (s *MCPServer) EnvReads() []string {
	found := map[string]bool{}
	note := func(name string) (string, bool) {
		found[name] = true
		return "", true
	}
	texts := []string{}
	if s.OAuth != nil {
		texts = append(texts, s.OAuth.ClientID, s.OAuth.ClientSecret)
	}
	texts = slices.Concat(texts, []string{s.Command, s.URL, s.Dir}, s.Args, slices.Collect(maps.Values(s.Env)), slices.Collect(maps.Values(s.Headers)))
	for _, text := range texts {
		expand(text, note)
	}
	return slices.Sorted(maps.Keys(found))
}
