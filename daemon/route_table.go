package daemon

const (
	defaultLimit = 50
	maxLimit     = 500
)

// Parameters that several routes have.
var (
	limitParam  = param{name: "limit", doc: "how many at most; default 50", kind: "integer", min: 1, max: maxLimit}
	cursorParam = param{name: "cursor", doc: "next_cursor of the page before"}
	ifMatch     = param{name: "If-Match", doc: "the ETag that was read; * is any"}
	keyParam    = param{name: "Idempotency-Key", doc: "the same key and body are served once and get the same answer for 24 hours, until the daemon is restarted; what it says of a session is read anew"}
)

func paged(more ...param) []param { return append(more, limitParam, cursorParam) }

// listOf is one page of a list.
type listOf[T any] struct {
	Items []T    `json:"items"`
	Next  string `json:"next_cursor,omitempty" jsonschema:"there is none on the last page"`
}

// shownAll are the items of a list as a client sees them; of none, an empty list.
func shownAll[S, T any](list []S, show func(*S) T) []T {
	out := make([]T, len(list))
	for i := range list {
		out[i] = show(&list[i])
	}
	return out
}

// routeTable is the whole interface. Routes without serve are the socket's.
func (a *api) routeTable() []route {
	var list []route
	for _, part := range [][]route{
		a.healthRoutes(), a.sessionRoutes(), a.eventRoutes(), a.runRoutes(), a.approvalRoutes(), a.policyRoutes(), a.powerRoutes(), a.authRoutes(),
		a.workspaceRoutes(),
	} {
		list = append(list, part...)
	}
	return list
}
