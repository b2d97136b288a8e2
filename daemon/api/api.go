// Package api defines the JSON request and response types of the daemon's HTTP API. The daemon
// serves them, and package daemon/client returns them.
//
//	run, err := c.CreateRun(ctx, &api.NewRun{Spec: runspec.Spec{Cwd: dir, Prompt: "fix the test"}})
//	fmt.Println(run.RunID, run.Status == api.StatusRunning)
//
// The package sends no requests; package daemon/client does. docs/reference/http.md describes the
// API.
package api

// Page is one page of a list.
type Page[T any] struct {
	Items []T    `json:"items"`
	Next  string `json:"next_cursor,omitempty" jsonschema:"omitted on the last page"`
}
