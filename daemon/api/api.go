// Package api has the types of the daemon's HTTP interface, as requests and answers have them
// in JSON. The daemon serves them, and package daemon/client returns them.
//
//	run, err := c.CreateRun(ctx, &api.NewRun{Spec: runspec.Spec{Cwd: dir, Prompt: "fix the test"}})
//	fmt.Println(run.RunID, run.Status == api.StatusRunning)
//
// docs/reference/http.md describes the interface.
package api

// Page is one page of a list.
type Page[T any] struct {
	Items []T    `json:"items"`
	Next  string `json:"next_cursor,omitempty" jsonschema:"left out of the last page"`
}
