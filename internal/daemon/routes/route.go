// Package routes defines each HTTP route of the daemon once. The daemon registers its handlers from
// these definitions, package daemon/client builds its requests from them, and the OpenAPI document
// is generated from them. The package contains the request and answer types that no Go client
// needs; the others are in package daemon/api.
//
//	            ┌─► daemon          handlers, scopes, strict bodies and queries
//	Routes() ───┼─► daemon/client   methods, paths
//	            └─► OpenAPI         the document at /v1/openapi.json
//
//	route, _ := routes.Lookup("getSession")
//	fmt.Println(route.Method, route.URL("s1")) // GET /v1/sessions/s1
//
// The package has no handlers. docs/reference/http.md describes the API.
package routes

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"

	"github.com/holdfast-dev/holdfast/daemon/api"
	"github.com/holdfast-dev/holdfast/internal/inputimage"
	"github.com/holdfast-dev/holdfast/internal/outcome"
)

// Route is one operation: a method, a path, its request and its answer.
type Route struct {
	Method, Path string // the path in the syntax of [http.ServeMux]
	ID           string // OpenAPI's operationId
	Tag          string
	Doc          string

	Scope  api.Scope // required scope; "" requires none
	Open   bool      // needs no credential
	Query  []Param
	Header []Param

	Body         any    // zero value of the request's body; nil: no body
	OptionalBody bool   // an empty object is a valid body
	RawBody      string // the content type of a body that is not JSON; it replaces Body
	Images       bool   // the body can contain images, so it may be larger

	Status    int      // of a successful answer; 0 is 200
	Also      []int    // other statuses of a successful answer
	Response  any      // zero value of the answer's JSON body; nil: none
	Types     []string // the content types of answers that are not JSON
	Streams   bool     // the answer to a POST may be a stream
	Secret    bool     // the answer contains a secret, so it is not stored for an Idempotency-Key
	Versioned bool     // the answer has an ETag

	Problems []outcome.Outcome // added to the problems that every route has
}

// Param is a query parameter or a header.
type Param struct {
	Name, Doc string
	Type      string   // string (the default), integer or boolean
	Enum      []string // the values of a string
	Min, Max  int64    // limits of an integer, unless both are 0
	Required  bool
}

// Key returns the route's pattern for [http.ServeMux].
func (r *Route) Key() string { return r.Method + " " + r.Path }

// Success returns the status of a successful answer.
func (r *Route) Success() int { return max(r.Status, http.StatusOK) }

// BodyLimit returns the maximum size of a JSON body in bytes.
func (r *Route) BodyLimit() int64 {
	if r.Images {
		return maxImageBody
	}
	return MaxBody
}

// Idempotent reports whether the route accepts an Idempotency-Key.
func (r *Route) Idempotent() bool { return r.Method == http.MethodPost && !r.Secret && !r.Streams }

// URL returns the route's path with its wildcards replaced by values, in order.
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

// Content types of answers other than JSON.
const (
	EventStream = "text/event-stream"
	jsonLines   = "application/jsonl"
	octets      = "application/octet-stream"
)

// Limits of a request.
const (
	DefaultLimit = 50      // entries of a page
	MaxLimit     = 500     // entries of a page
	MaxBody      = 1 << 20 // bytes of a JSON body
	maxImageBody = inputimage.MaxTotal/3*4 + MaxBody
)

// Parameters of several routes.
var (
	limitParam  = Param{Name: "limit", Doc: "maximum number of entries; default 50", Type: "integer", Min: 1, Max: MaxLimit}
	cursorParam = Param{Name: "cursor", Doc: "next_cursor of the previous page"}
	ifMatch     = Param{Name: "If-Match", Doc: "ETag of the version to change; * matches any"}
	keyParam    = Param{Name: "Idempotency-Key", Doc: "repeated requests with the same key and body return the first answer for 24 hours or until the daemon restarts; fields of a session are read again"}
)

func paged(more ...Param) []Param { return append(more, limitParam, cursorParam) }

func required(p Param) Param {
	p.Required = true
	return p
}

// orNotFound returns the problems of a route about a single object, which may not exist.
func orNotFound(more ...outcome.Outcome) []outcome.Outcome {
	return append([]outcome.Outcome{outcome.NotFound}, more...)
}
