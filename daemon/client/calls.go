package client

import (
	"context"
	"io"
	"net/http"
	"strconv"

	"github.com/holdfast-dev/holdfast/daemon/api"
	"github.com/holdfast-dev/holdfast/internal/daemon/routes"
	"github.com/holdfast-dev/holdfast/policy"
	"github.com/holdfast-dev/holdfast/transcript"
)

// ListOptions filters a list. The daemon rejects a field that the list does not support.
type ListOptions struct {
	Limit  int
	Cursor string // the value of Next in the previous page

	Text          string // sessions: text in id, title, first prompt, summary, tag or folder
	Cwd           string // sessions and runs
	Project       string // sessions
	Tag           string // sessions
	Run           string // sessions: a run's status, or "*"
	Owner         string // sessions
	WithApprovals bool   // sessions: only those with pending approvals
	Agents        bool   // sessions: also those of sub-agents; Owner and WithApprovals include them

	Status  api.RunStatus // runs
	State   string        // approvals: pending (the default) or all
	Session string        // approvals and audit
	Kind    string        // audit
}

func (q *ListOptions) params() string {
	flag := map[bool]string{true: "true"}
	return query("limit", number(int64(q.Limit)), "cursor", q.Cursor, "q", q.Text, "cwd", q.Cwd, "project", q.Project, "tag", q.Tag,
		"run", q.Run, "owner", q.Owner, "asked", flag[q.WithApprovals], "agents", flag[q.Agents],
		"status", string(q.Status), "state", q.State, "session", q.Session, "kind", q.Kind)
}

// Sessions lists sessions, newest first.
func (c *Client) Sessions(ctx context.Context, q ListOptions) (*api.Page[api.Session], error) {
	return do[api.Page[api.Session]](ctx, c, request{op: "listSessions", query: q.params()})
}

// Session returns one session.
func (c *Client) Session(ctx context.Context, id string) (*api.Session, error) {
	return do[api.Session](ctx, c, request{op: "getSession", path: []string{id}})
}

// PatchSession renames or tags a session.
func (c *Client) PatchSession(ctx context.Context, id string, p api.SessionPatch) (*api.Session, error) {
	return do[api.Session](ctx, c, request{op: "patchSession", path: []string{id}, body: p})
}

// DeleteSession deletes a session that is not running.
func (c *Client) DeleteSession(ctx context.Context, id string) error {
	return c.call(ctx, request{op: "deleteSession", path: []string{id}}, nil)
}

// ForkSession forks a session.
func (c *Client) ForkSession(ctx context.Context, id string, f api.Fork) (*api.Session, error) {
	return do[api.Session](ctx, c, request{op: "forkSession", path: []string{id}, body: f})
}

// RewindSession returns the plan of a rewind. If the request has the digest of the plan,
// RewindSession applies the plan.
func (c *Client) RewindSession(ctx context.Context, id string, r api.Rewind) (*api.RewindResult, error) {
	return do[api.RewindResult](ctx, c, request{op: "rewindSession", path: []string{id}, body: r})
}

// Records returns records after a seq, oldest first; after -N returns the last N. If kinds is not
// empty, it lists the record kinds to return, separated by commas.
func (c *Client) Records(ctx context.Context, id string, after int64, limit int, kinds string) (*api.Records, error) {
	return do[api.Records](ctx, c, request{
		op: "listEvents", path: []string{id}, query: query("after", number(after), "limit", number(int64(limit)), "kind", kinds),
	})
}

// Export exports a session, as `holdfast sessions export` does. The caller closes the result.
func (c *Client) Export(ctx context.Context, id, format string) (io.ReadCloser, error) {
	resp, err := c.send(ctx, request{op: "exportSession", path: []string{id}, query: query("format", format)})
	if err != nil {
		return nil, err
	}
	return resp.Body, nil
}

// Runs lists runs, newest first.
func (c *Client) Runs(ctx context.Context, q ListOptions) (*api.Page[api.RunInfo], error) {
	return do[api.Page[api.RunInfo]](ctx, c, request{op: "listRuns", query: q.params()})
}

// Run returns one run.
func (c *Client) Run(ctx context.Context, id string) (*api.RunInfo, error) {
	return c.run(ctx, "getRun", id, nil)
}

// CreateRun creates a run. If the run has a prompt or Start is true, CreateRun also starts the run.
func (c *Client) CreateRun(ctx context.Context, n *api.NewRun) (*api.RunInfo, error) {
	return do[api.RunInfo](ctx, c, request{op: "createRun", body: n})
}

// StartRun starts a prepared run.
func (c *Client) StartRun(ctx context.Context, id, input string, images ...transcript.Media) (*api.RunInfo, error) {
	return c.run(ctx, "startRun", id, routes.RunInput{Input: input, Images: images})
}

// ContinueRun continues a run that has ended.
func (c *Client) ContinueRun(ctx context.Context, id, input string, images ...transcript.Media) (*api.RunInfo, error) {
	return c.run(ctx, "continueRun", id, routes.RunInput{Input: input, Images: images})
}

// StopRun cancels a run. It returns after the cancellation is recorded.
func (c *Client) StopRun(ctx context.Context, id string) (*api.RunInfo, error) {
	return c.run(ctx, "stopRun", id, nil)
}

// SteerRun adds a text and images to the next model call of a running run. SteeringID of the result is the
// text's id for [Client.WithdrawSteering].
func (c *Client) SteerRun(ctx context.Context, id, text string, images ...transcript.Media) (*api.RunInfo, error) {
	return c.run(ctx, "steerRun", id, routes.Steer{Text: text, Images: images})
}

// StopSubagent stops the sub-agent of a running run that works in a session, or the turn of the
// teammate. The run continues.
func (c *Client) StopSubagent(ctx context.Context, id, session string) (*api.RunInfo, error) {
	return c.run(ctx, "stopRun", id, routes.Stop{Agent: session})
}

// SteerSubagent gives a text to the sub-agent or teammate of a running run that works in a session,
// and to no other agent.
func (c *Client) SteerSubagent(ctx context.Context, id, session, text string) (*api.RunInfo, error) {
	return c.run(ctx, "steerRun", id, routes.Steer{Text: text, Agent: session})
}

// WithdrawSteering takes back a text that SteerRun has added, unless a model request has it. The
// daemon then answers with the status 409. The run may have ended.
func (c *Client) WithdrawSteering(ctx context.Context, id, steering string) error {
	return c.call(ctx, request{op: "withdrawSteering", path: []string{id, steering}}, nil)
}

// SetMode changes the permission mode of a running run.
func (c *Client) SetMode(ctx context.Context, id string, m policy.Mode) (*api.RunInfo, error) {
	return c.run(ctx, "setRunMode", id, routes.ModeChange{Mode: string(m)})
}

// run sends a request about one run, and returns the run from the answer.
func (c *Client) run(ctx context.Context, op, id string, body any) (*api.RunInfo, error) {
	return do[api.RunInfo](ctx, c, request{op: op, path: []string{id}, body: body})
}

// Approvals lists approvals, oldest first.
func (c *Client) Approvals(ctx context.Context, q ListOptions) (*api.Page[api.Approval], error) {
	return do[api.Page[api.Approval]](ctx, c, request{op: "listApprovals", query: q.params()})
}

// Approval returns one approval.
func (c *Client) Approval(ctx context.Context, id string) (*api.Approval, error) {
	return do[api.Approval](ctx, c, request{op: "getApproval", path: []string{id}})
}

// Decide answers an approval. If the approval already has a different answer, the error is an
// *[api.Problem] whose Winner is that answer, and errors.Is matches [approval.ErrAnswered].
func (c *Client) Decide(ctx context.Context, id string, d api.Decision) (*api.Approval, error) {
	return do[api.Approval](ctx, c, request{op: "decideApproval", path: []string{id}, body: d})
}

// Policy returns the policy of a session.
func (c *Client) Policy(ctx context.Context, id string) (*api.Policy, error) {
	return do[api.Policy](ctx, c, request{op: "getSessionPolicy", path: []string{id}})
}

// ChangePolicy changes the policy of a session. It fails if the policy no longer has the given
// version.
func (c *Client) ChangePolicy(ctx context.Context, id string, version int, p api.PolicyChange) (*api.Policy, error) {
	return do[api.Policy](ctx, c, request{
		op: "patchSessionPolicy", path: []string{id}, header: http.Header{"If-Match": {strconv.Quote(strconv.Itoa(version))}}, body: p,
	})
}

// Grants lists the grants of a session.
func (c *Client) Grants(ctx context.Context, id string) ([]policy.Grant, error) {
	page, err := do[api.Page[policy.Grant]](ctx, c, request{op: "listGrants", path: []string{id}})
	if err != nil {
		return nil, err
	}
	return page.Items, nil
}

// Revoke revokes a grant.
func (c *Client) Revoke(ctx context.Context, id, grant string) error {
	return c.call(ctx, request{op: "revokeGrant", path: []string{id, grant}}, nil)
}
