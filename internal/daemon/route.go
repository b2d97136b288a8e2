package daemon

import (
	"context"
	"fmt"
	"mime"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/holdfast-dev/holdfast/internal/daemon/auth"
	"github.com/holdfast-dev/holdfast/internal/daemon/routes"
	"github.com/holdfast-dev/holdfast/internal/jsonscan"
	"github.com/holdfast-dev/holdfast/internal/outcome"
	"github.com/holdfast-dev/holdfast/internal/session/retry"
)

// route is a route with its handler. The mux and the OpenAPI document are made from the same list.
type route struct {
	routes.Route
	serve       func(c *call) error // nil for the WebSocket
	serveRepeat func(c *call, first *storedResponse) error
}

// call is one request to a route.
type call struct {
	w      http.ResponseWriter
	r      *http.Request
	route  *route
	caller auth.Caller
	query  map[string]string
	body   []byte
}

func (c *call) ctx() context.Context    { return c.r.Context() }
func (c *call) path(name string) string { return c.r.PathValue(name) }
func (c *call) into(v any) error        { return routes.Decode(c.body, v) }
func (c *call) header(k, v string)      { c.w.Header().Set(k, v) }
func (c *call) accepts(typ string) bool { return accepts(c.r.Header.Values("Accept"), typ) }
func (c *call) json(v any) error        { return c.jsonAs(c.route.Success(), v) }
func (c *call) limit() int              { return int(c.number("limit", routes.DefaultLimit)) }

// number returns an integer query parameter, or a default.
func (c *call) number(name string, fallback int64) int64 {
	n, err := strconv.ParseInt(c.query[name], 10, 64)
	if err != nil {
		return fallback
	}
	return n
}

func accepts(list []string, t string) bool {
	for _, line := range list {
		for part := range strings.SplitSeq(line, ",") {
			name, _, _ := strings.Cut(part, ";")
			if strings.EqualFold(strings.TrimSpace(name), t) {
				return true
			}
		}
	}
	return false
}

// jsonAs answers with a JSON document.
func (c *call) jsonAs(status int, v any) error {
	b, err := jsonscan.Marshal(v)
	if err != nil {
		return err
	}
	b = append(b, '\n')
	c.header("Content-Type", "application/json")
	c.header("Content-Length", strconv.Itoa(len(b)))
	c.w.WriteHeader(status)
	if c.r.Method != http.MethodHead {
		_, _ = c.w.Write(b)
	}
	return nil
}

func (c *call) noContent() error {
	c.w.WriteHeader(http.StatusNoContent)
	return nil
}

// routes registers all routes except the WebSocket.
func (a *service) routes(mux *http.ServeMux) {
	methods := map[string][]string{}
	for i := range a.table {
		rt := &a.table[i]
		if rt.serve == nil { // registered with the WebSocket
			continue
		}
		methods[rt.Path] = append(methods[rt.Path], rt.Method)
		if rt.Method == http.MethodGet {
			methods[rt.Path] = append(methods[rt.Path], http.MethodHead)
		}
		mux.HandleFunc(rt.Key(), func(w http.ResponseWriter, r *http.Request) { a.serve(rt, w, r) })
	}
	for path, allow := range methods {
		slices.Sort(allow)
		mux.HandleFunc(path, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Allow", strings.Join(allow, ", "))
			a.fail(w, r, refuse(outcome.NoMethod, "the method "+r.Method+" is not allowed here", "Allow: "+strings.Join(allow, ", ")))
		})
	}
	mux.HandleFunc("/", a.serveConsole)
}

// serve serves a request of a route.
//
// The body must arrive and the answer must be read within time limits, so that an idle client does
// not use resources. Streams and exports set separate time limits.
func (a *service) serve(rt *route, w http.ResponseWriter, r *http.Request) {
	control := http.NewResponseController(w)
	_ = control.SetReadDeadline(time.Now().Add(bodyTimeout))
	_ = control.SetWriteDeadline(time.Now().Add(answerTimeout))
	if err := a.admit(rt, w, r); err != nil {
		a.fail(w, r, err)
	}
	_ = control.Flush()
	_ = control.SetWriteDeadline(time.Time{}) // the next request on the connection sets a new deadline
}

const (
	storeTimeout  = 3 * time.Second // how long a request waits for an unreachable store
	bodyTimeout   = 30 * time.Second
	answerTimeout = 5 * time.Minute // verifying all sessions takes a while
)

func (a *service) admit(rt *route, w http.ResponseWriter, r *http.Request) error {
	c := &call{w: w, r: r.WithContext(retry.Within(r.Context(), storeTimeout)), route: rt}
	c.caller, _ = auth.CallerFrom(r.Context())
	if err := checkScope(rt, r); err != nil {
		return err
	}
	var err error
	if c.query, err = rt.ParseQuery(r.URL.RawQuery); err != nil {
		return err
	}
	if rt.Scope == "" && rt.Method == http.MethodPost { // the login handler itself reads the body
		return rt.serve(c)
	}
	if rt.RawBody != "" {
		return c.serveRaw()
	}
	if c.body, err = readBody(w, r, rt.BodyLimit()); err != nil {
		return err
	}
	_ = http.NewResponseController(w).SetReadDeadline(time.Time{})
	if rt.Body == nil && len(c.body) > 0 {
		return refuse(outcome.Usage, "this route takes no body", "")
	}
	if rt.Method == http.MethodPost {
		return a.once(c)
	}
	return rt.serve(c)
}

// serveRaw serves a route whose handler reads the body.
func (c *call) serveRaw() error {
	if t, _, err := mime.ParseMediaType(c.r.Header.Get("Content-Type")); err != nil || t != c.route.RawBody {
		return refuse(outcome.MediaType, fmt.Sprintf("the body has the content type %q", c.r.Header.Get("Content-Type")), "Content-Type: "+c.route.RawBody)
	}
	return c.route.serve(c)
}

// checkScope returns an error if the caller may not use the route; the error says why.
func checkScope(rt *route, r *http.Request) error {
	if rt.Scope == "" {
		return nil
	}
	caller, ok := auth.CallerFrom(r.Context())
	if !ok {
		return refuse(outcome.Unauthenticated, "missing credential", "create a token: holdfast daemon token create")
	}
	return caller.CheckScope(rt.Scope)
}

// fail answers with a problem, and logs errors of the server.
func (a *service) fail(w http.ResponseWriter, r *http.Request, err error) {
	p := problemOf(err)
	if p.Status >= http.StatusInternalServerError && r.Context().Err() == nil {
		a.log.WarnContext(r.Context(), "a request failed", "method", r.Method, "path", r.URL.Path, "status", p.Status, "error", err)
	}
	writeProblem(w, r, p)
}
