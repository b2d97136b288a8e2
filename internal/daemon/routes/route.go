// Package routes has the routes of the daemon's HTTP interface, each once: the daemon registers
// its handlers from them, package daemon/client builds its requests from them, and the OpenAPI
// document is made from them. Types of requests and answers that no client in Go needs are here,
// the others in package daemon/api.
//
//	            ┌─► daemon          handlers, scopes, strict bodies and queries
//	Routes() ───┼─► daemon/client   methods, paths
//	            └─► OpenAPI         the document at /v1/openapi.json
//
//	route, _ := routes.Lookup("getSession")
//	fmt.Println(route.Method, route.URL("s1")) // GET /v1/sessions/s1
//
// It serves nothing and runs nothing. docs/reference/http.md describes the interface.
package routes

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"

	"github.com/holdfast-dev/holdfast/daemon/api"
	"github.com/holdfast-dev/holdfast/internal/outcome"
)

// Route is one operation: a method on a path, what it takes and what it answers.
type Route struct {
	Method, Path string // the path as [http.ServeMux] takes it
	ID           string // OpenAPI's operationId
	Tag          string
	Doc          string

	Scope  api.Scope // that a caller needs; "" is none
	Open   bool      // no credential is needed
	Query  []Param
	Header []Param

	Body         any    // zero value of the request's body; nil: it has none
	OptionalBody bool   // an empty object is a valid body
	RawBody      string // instead of Body: the content type of a body that is not JSON

	Status    int      // of an answer that is no problem; 0 is 200
	Also      []int    // other statuses of such an answer
	Response  any      // zero value of the JSON body; nil: it has none
	Types     []string // content types of answers besides JSON
	Streams   bool     // the answer to a POST may be a stream
	Secret    bool     // the answer has a secret, and is not kept for an Idempotency-Key
	Versioned bool     // the answer has an ETag

	Problems []outcome.Outcome // besides those that every route has
}

// Param is a parameter of a query, or a header.
type Param struct {
	Name, Doc string
	Type      string   // string (the default), integer or boolean
	Enum      []string // the values of a string
	Min, Max  int64    // of an integer, unless both are 0
	Required  bool
}

// Key is the route's pattern for [http.ServeMux].
func (r *Route) Key() string { return r.Method + " " + r.Path }

// Success is the status of an answer that is no problem.
func (r *Route) Success() int { return max(r.Status, http.StatusOK) }

// Idempotent reports whether the route takes an Idempotency-Key.
func (r *Route) Idempotent() bool { return r.Method == http.MethodPost && !r.Secret && !r.Streams }

// URL is the route's path with values for its wildcards, in their order.
func (r *Route) URL(values ...string) string {
	var b strings.Builder
	rest := r.Path
	for _, v := range values {
		before, after, _ := strings.Cut(rest, "{")
		_, rest, _ = strings.Cut(after, "}")
		b.WriteString(before)
		b.WriteString(url.PathEscape(v))
	}
	return b.String() + rest
}

// Routes lists all routes.
func Routes() []Route {
	return slices.Concat(healthRoutes(), sessionRoutes(), eventRoutes(), runRoutes(), approvalRoutes(), policyRoutes(), recordRoutes(),
		authRoutes(), workspaceRoutes(), fileRoutes(), imageRoutes())
}

var byID = sync.OnceValue(func() map[string]Route {
	all := map[string]Route{}
	for _, r := range Routes() {
		all[r.ID] = r
	}
	return all
})

// Lookup finds a route by its ID.
func Lookup(id string) (Route, bool) {
	r, ok := byID()[id]
	return r, ok
}

// Content types of answers besides JSON.
const (
	EventStream = "text/event-stream"
	jsonLines   = "application/jsonl"
	octets      = "application/octet-stream"
)

// Limits of what a request may have.
const (
	DefaultLimit = 50      // entries of a page
	MaxLimit     = 500     // entries of a page
	MaxBody      = 1 << 20 // bytes of a JSON body
)

// Parameters that several routes have.
var (
	limitParam  = Param{Name: "limit", Doc: "how many at most; default 50", Type: "integer", Min: 1, Max: MaxLimit}
	cursorParam = Param{Name: "cursor", Doc: "next_cursor of the page before"}
	ifMatch     = Param{Name: "If-Match", Doc: "the ETag of the version to change; * is any"}
	keyParam    = Param{Name: "Idempotency-Key", Doc: "the same key and body are served once and get the same answer for 24 hours, until the daemon restarts; what it says of a session is read again"}
)

func paged(more ...Param) []Param { return append(more, limitParam, cursorParam) }

func needed(p Param) Param {
	p.Required = true
	return p
}

// one are the problems of a route about one thing that may not be there.
func one(more ...outcome.Outcome) []outcome.Outcome {
	return append([]outcome.Outcome{outcome.NotFound}, more...)
}
