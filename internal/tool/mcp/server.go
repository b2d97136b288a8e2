package mcp

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/holdfast-dev/holdfast/internal/truncate"
	"github.com/holdfast-dev/holdfast/policy"
)

// Transport is the way to connect to a server.
type Transport string

// The transports.
const (
	Stdio     Transport = "stdio"      // a command that communicates over its standard input and output
	HTTP      Transport = "http"       // streamable HTTP
	SSE       Transport = "sse"        // the older HTTP transport with server-sent events
	InProcess Transport = "in-process" // part of this program
)

// Server is one server as it is configured. In Command, Args, Env, Dir, URL and Headers, ${VAR} and
// ${VAR:-default} are not expanded yet.
type Server struct {
	Name      string
	Transport Transport // "" means that Command, URL or Connect determine it

	Command string // for Stdio, together with Args; looked up in the PATH that the server gets
	Args    []string
	Env     map[string]string // in addition to the variables that every command gets
	Dir     string            // start folder; "" is [Options].Dir

	URL     string // for HTTP and SSE
	Headers map[string]string
	OAuth   *OAuth // nil: the server's metadata says how to register

	Connect func(context.Context) (sdk.Transport, error) // for InProcess; called for each connection

	StartTimeout time.Duration // limit for connecting and the first list; default 30 seconds
	StartHint    string        // hint if the server's program ends before it answers; may be ""
	CallTimeout  time.Duration // for one call, without the time that the user takes; default 5 minutes

	// Tools are the tools to offer, by the names that the server uses; nil means all.
	Tools []string

	Origin policy.Origin // where it is defined
}

// OAuth is this client's registration with an authorization server.
type OAuth struct {
	ClientID     string   // a client id; if it is an https URL without a secret, it is the URL of a client metadata document
	ClientSecret string   // may be "" for a public client
	Scopes       []string // nil: the scopes that the server requests
	CallbackPort int      // port on the loopback interface to which the browser returns after a login; 0 means any free port
}

// Error describes an invalid server definition, or the reason why the server is not available.
type Error struct {
	Server string
	Origin policy.Origin
	Detail string
	Err    error

	hint string
}

func (e *Error) Error() string {
	text := fmt.Sprintf("MCP server %q: %s", truncate.String(e.Server, 100), e.Detail)
	if e.Err != nil {
		text += ": " + e.Err.Error()
	}
	if e.Origin.File == "" {
		return text
	}
	if e.Origin.Line > 0 {
		return fmt.Sprintf("%s:%d: %s", e.Origin.File, e.Origin.Line, text)
	}
	return e.Origin.File + ": " + text
}

// Hint returns how to fix the problem.
func (e *Error) Hint() string { return e.hint }

func (e *Error) Unwrap() error { return e.Err }

func (s *Server) newError(what, hint string) error {
	return &Error{Server: s.Name, Origin: s.Origin, Detail: what, hint: hint}
}

// Limits of a definition.
const (
	maxServerName = 64 // bytes
	maxDefinition = 64 << 10
	maxServers    = 64
)

// kind returns the configured transport; if there is none, it derives the transport from the other
// fields.
func (s *Server) kind() Transport {
	switch {
	case s.Transport != "":
		return s.Transport
	case s.Connect != nil:
		return InProcess
	case s.URL != "" && s.Command == "":
		return HTTP
	}
	return Stdio
}

// Check validates a definition without connecting. The error is an *[Error].
func (s *Server) Check() error {
	if err := s.checkName(); err != nil {
		return err
	}
	if s.StartTimeout < 0 || s.CallTimeout < 0 {
		return s.newError("a timeout is negative", "0 is the default")
	}
	if n := len(s.definition()); n > maxDefinition {
		return s.newError(fmt.Sprintf("its definition has %d bytes; at most %d are allowed", n, maxDefinition), "move long texts to files")
	}
	switch kind := s.kind(); kind {
	case Stdio:
		return s.checkStdio()
	case HTTP, SSE:
		return s.checkURL()
	case InProcess:
		if s.Connect == nil {
			return s.newError("an in-process server needs a Connect function", "set Connect")
		}
		return nil
	default:
		return s.newError(fmt.Sprintf("unknown transport %q", kind), "want stdio, http or sse")
	}
}

func (s *Server) checkName() error {
	switch prefix := sanitizeName(s.Name); {
	case s.Name == "":
		return s.newError("the name is missing", "")
	case len(s.Name) > maxServerName:
		return s.newError(fmt.Sprintf("the name is longer than %d bytes", maxServerName), "")
	case strings.ContainsFunc(s.Name, func(r rune) bool { return r < ' ' || r == 0x7f }):
		return s.newError("the name contains a control character", "")
	case strings.Contains(prefix, "__"):
		return s.newError(`the name contains "__", which separates server and tool in tool names`, "rename the server: use a single underscore")
	case strings.HasPrefix(prefix, "_"), strings.HasSuffix(prefix, "_"):
		return s.newError("the name starts or ends with an underscore, or with a character that is replaced by one", "rename the server: rules could not distinguish its tools from another server's")
	}
	return nil
}

func (s *Server) checkStdio() error {
	switch {
	case s.Command == "":
		return s.newError("the command and the URL are missing", "")
	case s.URL != "" || len(s.Headers) > 0 || s.OAuth != nil:
		return s.newError("a command cannot be combined with url, headers or oauth", "remove one of them")
	}
	for name := range s.Env {
		if name == "" || strings.ContainsAny(name, "=\x00") {
			return s.newError(fmt.Sprintf("invalid variable name %q", name), "")
		}
	}
	for _, text := range append(slices.Collect(mapValues(s.Env)), append(s.Args, s.Command, s.Dir)...) {
		if strings.ContainsRune(text, 0) {
			return s.newError("the command or environment contains a NUL", "")
		}
	}
	return nil
}

// checkURL checks the URL. A URL that contains ${VAR} is checked after the expansion.
func (s *Server) checkURL() error {
	switch {
	case s.Command != "" || len(s.Args) > 0 || len(s.Env) > 0 || s.Dir != "":
		return s.newError("a URL cannot be combined with command, args, env or a folder", "remove one of them")
	case s.URL == "":
		return s.newError("the URL is missing", "")
	}
	for name, value := range s.Headers {
		if !validHeader(name) || strings.ContainsAny(value, "\r\n\x00") {
			return s.newError(fmt.Sprintf("invalid header %q", truncate.String(name, 60)), "")
		}
	}
	if strings.Contains(s.URL, "${") {
		return nil
	}
	_, err := s.address()
	return err
}

// address returns the URL of a server whose variables are expanded.
func (s *Server) address() (*url.URL, error) {
	u, err := url.Parse(s.URL)
	switch {
	case err != nil:
		return nil, s.newError("the URL is invalid", "")
	case u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "":
		return nil, s.newError("the URL does not start with http:// or https:// and a host", "")
	case u.User != nil:
		return nil, s.newError("the URL contains a user name or password", "use headers instead")
	case u.Fragment != "":
		return nil, s.newError("the URL contains a #", "")
	case u.Scheme == "http" && !isLoopback(u.Hostname()) && (len(s.Headers) > 0 || s.OAuth != nil):
		return nil, s.newError("its headers would be sent unencrypted to "+u.Host, "use https://")
	}
	return u, nil
}

// Digest identifies the configuration of a server: the command or URL, the environment and the
// headers, with ${VAR} not expanded. The user approves the server once in this form. Timeouts and
// the selection of tools are not included.
func (s *Server) Digest() string {
	sum := sha256.Sum256(s.definition())
	return "sha256:" + hex.EncodeToString(sum[:])
}

// definition returns the data of the digest.
func (s *Server) definition() []byte {
	d := struct {
		Version   string
		Transport Transport
		Command   string
		Args      []string
		Env       map[string]string
		Dir       string
		URL       string
		Headers   map[string]string
		OAuth     *OAuth
	}{"holdfast mcp server 1", s.kind(), s.Command, s.Args, s.Env, s.Dir, s.URL, s.Headers, s.OAuth}
	b, _ := json.Marshal(d) // texts and numbers only
	return b
}

// Summary returns one line for the user. It contains the command, or the URL without its query. It
// contains no values of the environment or of headers.
func (s *Server) Summary() string {
	switch s.kind() {
	case Stdio:
		words := append([]string{s.Command}, s.Args...)
		for i, w := range words {
			if w == "" || strings.ContainsFunc(w, func(r rune) bool { return r <= ' ' || strings.ContainsRune(`"'\$&|;<>()*?`, r) || r == 0x7f }) {
				words[i] = fmt.Sprintf("%q", w)
			}
		}
		return truncate.String(strings.Join(words, " "), 400)
	case InProcess:
		return "in this program"
	}
	shown, _, query := strings.Cut(s.URL, "?")
	if query {
		shown += "?…"
	}
	return truncate.String(strings.Map(dropControl, shown), 400)
}

func dropControl(r rune) rune {
	if r < ' ' || r == 0x7f {
		return -1
	}
	return r
}

// prefix returns the prefix of the server's tool names.
func (s *Server) prefix() string { return "mcp__" + sanitizeName(s.Name) + "__" }

// sanitizeName replaces characters that providers do not accept in tool names.
func sanitizeName(name string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case 'a' <= r && r <= 'z', 'A' <= r && r <= 'Z', '0' <= r && r <= '9', r == '_', r == '-':
			return r
		}
		return '_'
	}, name)
}

// checkAll checks all servers of a client.
func checkAll(servers []Server) error {
	if len(servers) > maxServers {
		return fmt.Errorf("%d MCP servers; at most %d are allowed", len(servers), maxServers)
	}
	seen := map[string]*Server{}
	for i := range servers {
		s := &servers[i]
		if err := s.Check(); err != nil {
			return err
		}
		if other := seen[s.prefix()]; other != nil {
			return s.newError(fmt.Sprintf("its tool names would collide with those of %q", other.Name), "rename one of them")
		}
		seen[s.prefix()] = s
	}
	return nil
}

func (s *Server) startTimeout() time.Duration { return cmp.Or(s.StartTimeout, 30*time.Second) }
func (s *Server) callTimeout() time.Duration  { return cmp.Or(s.CallTimeout, 5*time.Minute) }
