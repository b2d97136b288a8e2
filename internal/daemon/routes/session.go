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
			Doc: "Sessions, the last updated first. With q a page may be short, or empty, and still have a next one: " +
				"what one request searches is bounded.",
			Scope: api.ScopeRead, Response: api.Page[api.Session]{},
			Query: paged(
				Param{Name: "q", Doc: "text to find in id, title, first prompt, summary, tag and folder, in upper or lower case"},
				Param{Name: "cwd", Doc: "only of this folder"}, Param{Name: "project", Doc: "only of this project"},
				Param{Name: "tag", Doc: "only with this tag"},
				Param{
					Name: "run", Doc: "only where the run has this status on record; * is any. One that waits is running, usually with asked=true",
					Enum: append(recordedStatuses(), "*"),
				},
				Param{Name: "owner", Doc: "only those of the agents of this run"},
				Param{Name: "agents", Doc: "also those of agents that work for a run; owner and asked include them", Type: "boolean"},
				Param{Name: "asked", Doc: "only those with open questions", Type: "boolean"},
			),
		},
		{
			Method: http.MethodGet, Path: "/v1/sessions/{id}", ID: "getSession", Tag: "sessions", Doc: "One session.",
			Scope: api.ScopeRead, Response: api.Session{}, Versioned: true, Problems: one(),
		},
		{
			Method: http.MethodPatch, Path: "/v1/sessions/{id}", ID: "patchSession", Tag: "sessions",
			Doc:   "Title, tag and summary; an empty text clears one.",
			Scope: api.ScopeRun, Header: []Param{ifMatch}, Body: api.SessionPatch{}, Response: api.Session{}, Versioned: true,
			Problems: one(outcome.Stale),
		},
		{
			Method: http.MethodDelete, Path: "/v1/sessions/{id}", ID: "deleteSession", Tag: "sessions",
			Doc:   "Deletes a session permanently, and with a run's those of its agents. Forks keep what they need.",
			Scope: api.ScopeAdmin, Header: []Param{ifMatch}, Status: http.StatusNoContent,
			Problems: one(outcome.Busy, outcome.Stale, outcome.NotOffered),
		},
		{
			Method: http.MethodPost, Path: "/v1/sessions/{id}/fork", ID: "forkSession", Tag: "sessions",
			Doc:   "Creates a session that shares the records of this one up to an item, or up to a record.",
			Scope: api.ScopeRun, Body: api.Fork{}, OptionalBody: true, Status: http.StatusCreated, Response: api.Session{}, Versioned: true,
			Problems: one(outcome.Conflict),
		},
		{
			Method: http.MethodPost, Path: "/v1/sessions/{id}/rewind", ID: "rewindSession", Tag: "sessions",
			Doc: "Takes files and transcript back to an earlier point, as holdfast sessions rewind does: answers with the plan, and applies " +
				"it when the same request has the plan's digest.",
			Scope: api.ScopeApprove, Body: api.Rewind{}, Response: json.RawMessage(nil),
			Problems: one(outcome.Busy, outcome.Conflict),
		},
	}
}

func eventRoutes() []Route {
	return []Route{{
		Method: http.MethodGet, Path: "/v1/sessions/{id}/events", ID: "listEvents", Tag: "sessions",
		Doc: "The records of a session, oldest first, with those of a run's agents in their places; or, with Accept: " +
			"text/event-stream, the same as they come (also of a run that is only prepared): event record (id: its seq), delta, gap, caught_up, deleted, shutdown.",
		Scope: api.ScopeRead, Response: api.Records{}, Types: []string{EventStream},
		Problems: one(outcome.Unavailable),
		Query: []Param{
			{
				Name: "after", Type: "integer",
				Doc: "begin after this seq; -N: the last N. Default 0, and of a stream Last-Event-ID",
			},
			{Name: "limit", Doc: "how many records at most; default 50; not of a stream", Type: "integer", Min: 1, Max: MaxLimit},
			{Name: "kind", Doc: "only records of these kinds, separated by commas"},
		},
		Header: []Param{{Name: "Last-Event-ID", Doc: "of a stream: begin after this seq"}},
	}}
}
