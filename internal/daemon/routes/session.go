package routes

import (
	"encoding/json"
	"net/http"

	"github.com/holdfast-dev/holdfast/daemon/api"
	"github.com/holdfast-dev/holdfast/internal/outcome"
)

func sessionRoutes() []Route {
	return []Route{
		{
			Method: http.MethodGet, Path: "/v1/sessions", ID: "listSessions", Tag: "sessions",
			Doc: "Lists sessions, last updated first. With q, a page may be short or empty and still have a next one, " +
				"because one request searches a limited number of sessions.",
			Scope: api.ScopeRead, Response: api.Page[api.Session]{},
			Query: paged(
				Param{Name: "q", Doc: "text to find in id, title, first prompt, summary, tag and folder; case is ignored"},
				Param{Name: "cwd", Doc: "only sessions in this folder"}, Param{Name: "project", Doc: "only sessions of this project"},
				Param{Name: "tag", Doc: "only sessions with this tag"},
				Param{
					Name: "run", Doc: "only sessions whose run has this recorded status; * is any. A waiting run is recorded as running, usually with asked=true",
					Enum: append(recordedStatuses(), "*"),
				},
				Param{Name: "owner", Doc: "only sessions of this run's agents"},
				Param{Name: "agents", Doc: "also sessions of sub-agents; owner and asked include them", Type: "boolean"},
				Param{Name: "asked", Doc: "only sessions with pending approvals", Type: "boolean"},
			),
		},
		{
			Method: http.MethodGet, Path: "/v1/sessions/{id}", ID: "getSession", Tag: "sessions", Doc: "Returns one session.",
			Scope: api.ScopeRead, Response: api.Session{}, Versioned: true, Problems: orNotFound(),
		},
		{
			Method: http.MethodPatch, Path: "/v1/sessions/{id}", ID: "patchSession", Tag: "sessions",
			Doc:   "Changes title, tag and summary. An empty text clears a field.",
			Scope: api.ScopeRun, Header: []Param{ifMatch}, Body: api.SessionPatch{}, Response: api.Session{}, Versioned: true,
			Problems: orNotFound(outcome.Stale),
		},
		{
			Method: http.MethodDelete, Path: "/v1/sessions/{id}", ID: "deleteSession", Tag: "sessions",
			Doc:   "Permanently deletes a session and the sessions of its run's agents. Records that forks need are kept.",
			Scope: api.ScopeAdmin, Header: []Param{ifMatch}, Status: http.StatusNoContent,
			Problems: orNotFound(outcome.Busy, outcome.Stale, outcome.NotOffered),
		},
		{
			Method: http.MethodPost, Path: "/v1/sessions/{id}/fork", ID: "forkSession", Tag: "sessions",
			Doc:   "Forks a session: creates a session that shares this one's records up to an item or a record.",
			Scope: api.ScopeRun, Body: api.Fork{}, OptionalBody: true, Status: http.StatusCreated, Response: api.Session{}, Versioned: true,
			Problems: orNotFound(outcome.Conflict),
		},
		{
			Method: http.MethodPost, Path: "/v1/sessions/{id}/rewind", ID: "rewindSession", Tag: "sessions",
			Doc: "Rewinds files and transcript to an earlier point, as holdfast sessions rewind does. It answers with a plan; a request " +
				"with the plan's digest applies the plan.",
			Scope: api.ScopeApprove, Body: api.Rewind{}, Response: json.RawMessage(nil),
			Problems: orNotFound(outcome.Busy, outcome.Conflict),
		},
	}
}

func eventRoutes() []Route {
	return []Route{{
		Method: http.MethodGet, Path: "/v1/sessions/{id}/events", ID: "listEvents", Tag: "sessions",
		Doc: "Lists the records of a session, oldest first, including those of a run's agents. With Accept: " +
			"text/event-stream, sends them as they are appended, also for a run that is only prepared: events record (id: its seq), delta, gap, caught_up, deleted, shutdown. After caught_up, deltas have the text so far of each answer that an agent writes.",
		Scope: api.ScopeRead, Response: api.Records{}, Types: []string{EventStream},
		Problems: orNotFound(outcome.Unavailable),
		Query: []Param{
			{
				Name: "after", Type: "integer",
				Doc: "begin after this seq; -N: the last N. Default: 0, or in a stream Last-Event-ID",
			},
			{Name: "limit", Doc: "maximum number of records; default 50; not in a stream", Type: "integer", Min: 1, Max: MaxLimit},
			{Name: "kind", Doc: "only records of these kinds, separated by commas"},
		},
		Header: []Param{{Name: "Last-Event-ID", Doc: "in a stream: begin after this seq"}},
	}}
}
