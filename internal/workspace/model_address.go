package workspace

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/holdfast-dev/holdfast/internal/sandbox/egress"
)

// ErrUnreachable means that the agent's model has an address that the container cannot reach.
var ErrUnreachable = errors.New("the agent cannot reach its model")

// reachWait limits the time of the check whether a model can be reached.
const reachWait = 8 * time.Second

// modelAddress is the address of a vendor agent's model.
type modelAddress struct {
	variable string // the variable that sets the address; "" for the vendor's default address
	url      string
	host     string
	port     int
}

// vendorModels has, for each agent kind, the default address of its vendor and the credential
// variable that agents use there. A caller that does not set this variable uses the model in
// another way.
var vendorModels = map[string]struct{ key, url string }{
	KindClaude: {"ANTHROPIC_API_KEY", "https://api.anthropic.com"},
	KindCodex:  {"OPENAI_API_KEY", "https://api.openai.com"},
}

// modelAddresses returns the addresses that an agent's variables name, or else its vendor's default.
func modelAddresses(s *Settings, env []string) (list []modelAddress, err error) {
	for _, v := range env {
		name, value, _ := strings.Cut(v, "=")
		if !strings.HasSuffix(name, "_BASE_URL") {
			continue
		}
		a, err := parseModelAddress(value)
		if err != nil {
			return nil, &Error{
				Op: "run an agent in", Slug: s.Slug, Err: ErrInvalid, Detail: name + " is not a valid model address: " + err.Error(),
				Advice: "set it to http://HOST:PORT or https://HOST",
			}
		}
		a.variable = name
		list = append(list, a)
	}
	vendor, known := vendorModels[s.Agent.Kind]
	if len(list) == 0 && known && len(s.Agent.Command) == 0 && slices.ContainsFunc(env, func(v string) bool { return strings.HasPrefix(v, vendor.key+"=") }) {
		a, err := parseModelAddress(vendor.url)
		return []modelAddress{a}, err
	}
	return list, nil
}

func parseModelAddress(text string) (modelAddress, error) {
	u, err := url.Parse(text)
	if err != nil {
		return modelAddress{}, errors.New("it is not a URL") // the URL may hold a password
	}
	a := modelAddress{url: u.Redacted(), host: u.Hostname()}
	port := cmp.Or(u.Port(), map[string]string{"http": "80", "https": "443"}[u.Scheme])
	if a.port, err = strconv.Atoi(port); err != nil || a.host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return modelAddress{}, fmt.Errorf("%q needs the scheme http or https and a host", a.url)
	}
	return a, nil
}

// isLoopback reports whether the address means the container itself when it is used inside the
// container.
func (a *modelAddress) isLoopback() bool {
	h, err := egress.ParseHost(a.host)
	if err != nil {
		return false
	}
	return h.Name == "localhost" || strings.HasSuffix(h.Name, ".localhost") || h.IsAddr() && (h.Addr.IsLoopback() || h.Addr.IsUnspecified())
}

func (a *modelAddress) String() string {
	if a.variable == "" {
		return a.url
	}
	return a.variable + ", which is " + a.url + ","
}

// unreachableError returns the error for an address.
func (a *modelAddress) unreachableError(slug, why, advice string) error {
	return &Error{Op: "run an agent in", Slug: slug, Err: ErrUnreachable, Detail: fmt.Sprintf("%s %s", a, why), Advice: advice}
}

// checkModelAddresses rejects at once an address that no container of the workspace can reach.
func checkModelAddresses(s *Settings, list []modelAddress) error {
	for i := range list {
		a := &list[i]
		target := net.JoinHostPort(a.host, strconv.Itoa(a.port))
		switch {
		case a.isLoopback():
			return a.unreachableError(s.Slug, "refers to the container itself, not to this host", fmt.Sprintf(
				"let the server listen on a non-loopback address of this host, set %s to it, and allow it: %s",
				a.variable, allowCommand(s, fmt.Sprintf("ADDRESS:%d", a.port))))
		case s.Network.Mode == NetworkNone:
			return a.unreachableError(s.Slug, "cannot be reached: the workspace has no network", allowCommand(s, target))
		}
	}
	return nil
}

// allowCommand returns the command that allows a workspace one more address.
func allowCommand(s *Settings, target string) string {
	return "holdfast workspace set " + s.Slug + " --allow-domain " + strings.Join(append(slices.Clone(s.Network.Domains), target), " --allow-domain ")
}

// checkModelsReachable checks whether the container's proxy can reach the models. It requests a connection as the
// agent would, under the rules of the workspace.
func (w *Workspaces) checkModelsReachable(ctx context.Context, slug string, list []modelAddress) error {
	if len(list) == 0 {
		return nil
	}
	s, err := w.Get(ctx, slug) // the settings may have changed since the agent was created
	if err == nil {
		err = checkModelAddresses(s, list)
	}
	if err != nil {
		return err
	}
	for i := range list {
		if err := list[i].checkReachable(ctx, s); err != nil {
			return err
		}
	}
	return nil
}

func (a *modelAddress) checkReachable(ctx context.Context, s *Settings) error {
	rules, err := egress.Compile(egress.Layer{Allow: s.Network.Domains})
	if err != nil {
		return err
	}
	proxy, err := egress.New(rules, &egress.Options{Limits: egress.Limits{ConnectTime: reachWait}})
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, reachWait)
	defer cancel()
	here, there := net.Pipe()
	var seen egress.Session
	served := make(chan error, 1)
	go func() { served <- proxy.Serve(ctx, &oneConn{conn: there, done: ctx.Done()}, &seen) }()
	status, err := requestTunnel(ctx, here, net.JoinHostPort(a.host, strconv.Itoa(a.port)))
	cancel()
	<-served
	if err == nil && status == http.StatusOK {
		return nil
	}
	if list := seen.Refusals(); len(list) > 0 {
		return a.unreachableError(s.Slug, "is not allowed: "+list[0].Text(), allowCommand(s, list[0].Target()))
	}
	why := "does not answer"
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		why += " within " + reachWait.String()
	}
	return a.unreachableError(s.Slug, why, "check that a server listens there and that the name and port are correct")
}

// requestTunnel requests a tunnel from a proxy and returns its status code.
func requestTunnel(ctx context.Context, c net.Conn, target string) (int, error) {
	defer c.Close()
	stop := context.AfterFunc(ctx, func() { _ = c.Close() })
	defer stop()
	r := &http.Request{Method: http.MethodConnect, URL: &url.URL{Opaque: target}, Host: target, Header: http.Header{}}
	if err := r.Write(c); err != nil {
		return 0, err
	}
	answer, err := http.ReadResponse(bufio.NewReader(c), r)
	if err != nil {
		return 0, err
	}
	return answer.StatusCode, answer.Body.Close()
}

// oneConn is a listener that accepts exactly one connection.
type oneConn struct {
	mu   sync.Mutex
	conn net.Conn
	done <-chan struct{}
}

// Accept implements [net.Listener].
func (l *oneConn) Accept() (net.Conn, error) {
	l.mu.Lock()
	c := l.conn
	l.conn = nil
	l.mu.Unlock()
	if c != nil {
		return c, nil
	}
	<-l.done
	return nil, net.ErrClosed
}

// Close implements [net.Listener].
func (l *oneConn) Close() error { return nil }

// Addr implements [net.Listener].
func (l *oneConn) Addr() net.Addr { return &net.UnixAddr{Net: "unix", Name: "probe"} }
