package client

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strconv"
	"time"

	"github.com/holdfast-dev/holdfast/approval"
	"github.com/holdfast-dev/holdfast/internal/daemon/wire"
	"github.com/holdfast-dev/holdfast/policy"
	"github.com/holdfast-dev/holdfast/session"
)

// Page is one page of a list. Next is "" on the last.
type Page[T any] struct {
	Items []T    `json:"items"`
	Next  string `json:"next_cursor"`
}

// Session is a session's meta, and who writes it.
type Session struct {
	session.Meta
	Status wire.Status `json:"status,omitempty"` // where its run stands now
	HeldBy *Holder     `json:"held_by,omitempty"`
	// LeftBehind is what was decided in the source of a fork that was just made and does not
	// hold in the fork.
	LeftBehind *session.Left `json:"left_behind,omitempty"`
}

// UnmarshalJSON reads all of it.
func (s *Session) UnmarshalJSON(b []byte) error {
	var more struct {
		Status     wire.Status   `json:"status"`
		HeldBy     *Holder       `json:"held_by"`
		LeftBehind *session.Left `json:"left_behind"`
	}
	if err := json.Unmarshal(b, &s.Meta); err != nil {
		return err
	}
	err := json.Unmarshal(b, &more)
	s.Status, s.HeldBy, s.LeftBehind = more.Status, more.HeldBy, more.LeftBehind
	return err
}

// Holder is the process that writes a session.
type Holder struct {
	Host    string    `json:"host"`
	PID     int       `json:"pid"`
	Command string    `json:"command"`
	Since   time.Time `json:"since"`
	Here    bool      `json:"here"` // it is the daemon that was asked
}

// SessionQuery filters [Client.Sessions].
type SessionQuery struct {
	Limit   int
	Cursor  string
	Text    string // looked for in id, title, first prompt, summary, tag, folder
	Cwd     string
	Project string
	Tag     string
	Run     string // a run's status, or "*"
	Owner   string
	Asked   bool // only those with open questions
	Agents  bool // also those that work for a run; with Owner or Asked they are there anyway
}

// Sessions lists sessions, newest first.
func (c *Client) Sessions(ctx context.Context, q SessionQuery) (*Page[Session], error) {
	asked, agents := "", ""
	if q.Asked {
		asked = "true"
	}
	if q.Agents {
		agents = "true"
	}
	return get[Page[Session]](ctx, c, "/v1/sessions"+query("limit", number(int64(q.Limit)), "cursor", q.Cursor, "q", q.Text,
		"cwd", q.Cwd, "project", q.Project, "tag", q.Tag, "run", q.Run, "owner", q.Owner, "asked", asked, "agents", agents))
}

// Session returns one session.
func (c *Client) Session(ctx context.Context, id string) (*Session, error) {
	return get[Session](ctx, c, "/v1/sessions/"+segment(id))
}

// SessionPatch changes a session: nil leaves a field alone, "" clears it.
type SessionPatch struct {
	Title   *string `json:"title,omitempty"`
	Tag     *string `json:"tag,omitempty"`
	Summary *string `json:"summary,omitempty"`
}

// PatchSession renames or tags a session.
func (c *Client) PatchSession(ctx context.Context, id string, p SessionPatch) (*Session, error) {
	return do[Session](ctx, c, http.MethodPatch, "/v1/sessions/"+segment(id), p)
}

// DeleteSession deletes a session that does not run.
func (c *Client) DeleteSession(ctx context.Context, id string) error {
	return c.call(ctx, http.MethodDelete, "/v1/sessions/"+segment(id), nil, nil)
}

// Fork says where a session is branched off; the zero value is at its end.
type Fork struct {
	At        string `json:"at,omitempty"`  // an item's id
	Seq       int64  `json:"seq,omitempty"` // or a record's number
	Title     string `json:"title,omitempty"`
	SessionID string `json:"session_id,omitempty"` // of the new one
	// WithGrants has it begin with what was decided in the session.
	WithGrants bool `json:"with_grants,omitempty"`
}

// ForkSession branches off a session.
func (c *Client) ForkSession(ctx context.Context, id string, f Fork) (*Session, error) {
	return do[Session](ctx, c, http.MethodPost, "/v1/sessions/"+segment(id)+"/fork", f)
}

// Rewind says how far a session is taken back, and what of it: to one of To and ToRewrite.
type Rewind struct {
	To         string   `json:"to,omitempty"`         // a record, an item or a turn
	ToRewrite  string   `json:"to_rewrite,omitempty"` // a rewrite's record, or last
	Files      bool     `json:"files,omitempty"`
	Transcript bool     `json:"transcript,omitempty"`
	Fork       bool     `json:"fork,omitempty"`
	WithGrants bool     `json:"with_grants,omitempty"` // with Fork
	Except     []string `json:"except,omitempty"`
	Force      bool     `json:"force,omitempty"`
	Digest     string   `json:"digest,omitempty"` // that of the plan; without it there is only a plan
}

// Rewound is what going back would do, and what it has done.
type Rewound struct {
	To     int64         `json:"to"`
	Files  []RewoundFile `json:"files"`
	Items  [2]int        `json:"items"`
	Digest string        `json:"digest"`
	Head   int64         `json:"head"` // going back to it takes this back
	Done   *struct {
		Files      []RewoundFile `json:"files"`
		Transcript bool          `json:"transcript"`
		Forked     string        `json:"forked"`
		Unkept     []RewoundFile `json:"unkept"`
		Notices    []string      `json:"notices"`
	} `json:"done"` // nil of a plan
}

// RewoundFile is a file, and what is done with it: docs/checkpoints.md lists the actions.
type RewoundFile struct {
	Path   string `json:"path"`
	Action string `json:"action"`
	Why    string `json:"why"`
	Note   string `json:"note"`
	Size   int64  `json:"size"`
}

// RewindSession says what taking a session back would do, or with the digest of that does it.
func (c *Client) RewindSession(ctx context.Context, id string, r Rewind) (*Rewound, error) {
	return do[Rewound](ctx, c, http.MethodPost, "/v1/sessions/"+segment(id)+"/rewind", r)
}

// Record is a record of a session's log.
type Record struct {
	Seq     int64           `json:"seq"`
	More    bool            `json:"more"` // another one of the same seq follows
	ID      string          `json:"id"`
	Time    time.Time       `json:"time"`
	Kind    session.Kind    `json:"kind"`
	Agent   string          `json:"agent"`       // of a run of several agents: whose
	Session string          `json:"session"`     // and in which session
	Origin  int64           `json:"session_seq"` // and its seq there
	Payload json.RawMessage `json:"payload"`     // nil when it was erased
}

// Records is one page of a log.
type Records struct {
	Items []Record `json:"items"`
	Next  int64    `json:"next_after"`
	Head  int64    `json:"head"`
}

// Records returns records behind a seq, oldest first; after -N is the last N. Kinds,
// with commas between them, picks some; "" is all.
func (c *Client) Records(ctx context.Context, id string, after int64, limit int, kinds string) (*Records, error) {
	return get[Records](ctx, c, "/v1/sessions/"+segment(id)+"/events"+
		query("after", number(after), "limit", number(int64(limit)), "kind", kinds))
}

// Export writes a session, as `holdfast sessions export` does. The caller closes it.
func (c *Client) Export(ctx context.Context, id, format string) (io.ReadCloser, error) {
	resp, err := c.send(ctx, http.MethodGet, "/v1/sessions/"+segment(id)+"/export"+query("format", format), nil, nil)
	if err != nil {
		return nil, err
	}
	return resp.Body, nil
}

// RunQuery filters [Client.Runs].
type RunQuery struct {
	Limit  int
	Cursor string
	Status wire.Status
	Cwd    string
}

// Runs lists runs, newest first.
func (c *Client) Runs(ctx context.Context, q RunQuery) (*Page[wire.RunInfo], error) {
	return get[Page[wire.RunInfo]](ctx, c, "/v1/runs"+
		query("limit", number(int64(q.Limit)), "cursor", q.Cursor, "status", string(q.Status), "cwd", q.Cwd))
}

// Run returns one run.
func (c *Client) Run(ctx context.Context, id string) (*wire.RunInfo, error) {
	return get[wire.RunInfo](ctx, c, "/v1/runs/"+segment(id))
}

// NewRun describes a run: of a strategy, or of a single agent.
type NewRun struct {
	SessionID    string          `json:"session_id,omitempty"` // of a session that goes on, or of a new one; makes it safe to ask again
	Strategy     json.RawMessage `json:"strategy,omitempty"`
	StrategyPath string          `json:"strategy_path,omitempty"`
	Model        string          `json:"model,omitempty"`
	Cwd          string          `json:"cwd,omitempty"`
	Workspace    string          `json:"workspace,omitempty"` // its slug; Cwd is its project then
	Mode         string          `json:"mode,omitempty"`
	MaxBudgetUSD float64         `json:"max_budget_usd,omitempty"` // 0 leaves the bound that the run has, -1 lifts it
	Settings     string          `json:"settings,omitempty"`
	Title        string          `json:"title,omitempty"`
	Environ      []string        `json:"environ,omitempty"` // on the unix socket only
	Input        string          `json:"input,omitempty"`
	Start        *bool           `json:"start,omitempty"` // default: whether there is input
}

// CreateRun makes a run, and starts it unless it is told not to.
func (c *Client) CreateRun(ctx context.Context, n *NewRun) (*wire.RunInfo, error) {
	return do[wire.RunInfo](ctx, c, http.MethodPost, "/v1/runs", n)
}

// StartRun starts a run that is prepared.
func (c *Client) StartRun(ctx context.Context, id, input string) (*wire.RunInfo, error) {
	return c.act(ctx, id, "start", map[string]string{"input": input})
}

// ContinueRun goes on with a run that has ended.
func (c *Client) ContinueRun(ctx context.Context, id, input string) (*wire.RunInfo, error) {
	return c.act(ctx, id, "continue", map[string]string{"input": input})
}

// StopRun cancels a run; that is on record when it returns.
func (c *Client) StopRun(ctx context.Context, id string) (*wire.RunInfo, error) {
	return c.act(ctx, id, "stop", nil)
}

// SteerRun gives a running run a text to heed.
func (c *Client) SteerRun(ctx context.Context, id, text string) (*wire.RunInfo, error) {
	return c.act(ctx, id, "steer", map[string]string{"text": text})
}

// GiveInput answers a run that waits for input; inputID "" is the one that waits.
func (c *Client) GiveInput(ctx context.Context, id, agent, inputID, text string) (*wire.RunInfo, error) {
	in := map[string]string{"agent": agent, "text": text}
	if inputID != "" {
		in["input_id"] = inputID
	}
	return c.act(ctx, id, "input", in)
}

// SetMode changes the permission mode of a run that runs.
func (c *Client) SetMode(ctx context.Context, id string, m policy.Mode) (*wire.RunInfo, error) {
	return c.act(ctx, id, "mode", map[string]string{"mode": string(m)})
}

func (c *Client) act(ctx context.Context, id, verb string, in any) (*wire.RunInfo, error) {
	return do[wire.RunInfo](ctx, c, http.MethodPost, "/v1/runs/"+segment(id)+"/"+verb, in)
}

// Approval is a question, and its answer when it has one.
type Approval struct {
	approval.Question
	State  string           `json:"state"` // pending, approved, denied, expired, cancelled
	Answer *approval.Answer `json:"answer"`
	Run    string           `json:"run"`    // status of the run
	RunID  string           `json:"run_id"` // the session of the run
	Title  string           `json:"title"`  // of the session
}

// ApprovalQuery filters [Client.Approvals].
type ApprovalQuery struct {
	State   string // pending (the default) or all
	Session string
	Limit   int
	Cursor  string
}

// Approvals lists questions; those that wait are the oldest first.
func (c *Client) Approvals(ctx context.Context, q ApprovalQuery) (*Page[Approval], error) {
	return get[Page[Approval]](ctx, c, "/v1/approvals"+
		query("state", q.State, "session", q.Session, "limit", number(int64(q.Limit)), "cursor", q.Cursor))
}

// Approval returns one question.
func (c *Client) Approval(ctx context.Context, id string) (*Approval, error) {
	return get[Approval](ctx, c, "/v1/approvals/"+segment(id))
}

// Decision answers a question. Who answers is whom the daemon takes the caller for.
type Decision struct {
	Decision approval.Decision `json:"decision"`
	Scope    string            `json:"scope,omitempty"` // of a session decision: a rule
	Message  string            `json:"message,omitempty"`
	Stop     bool              `json:"stop,omitempty"`
	Input    json.RawMessage   `json:"input,omitempty"`  // run with this instead
	Digest   string            `json:"digest,omitempty"` // of what was shown
}

// Decide answers a question. Where somebody was faster with another answer the error
// is a *[Problem] with the Winner, and is [approval.ErrAnswered].
func (c *Client) Decide(ctx context.Context, id string, d Decision) (*Approval, error) {
	return do[Approval](ctx, c, http.MethodPost, "/v1/approvals/"+segment(id)+"/decision", d)
}

// Policy is the policy of a session as it is.
type Policy struct {
	Version int            `json:"version"`
	Mode    policy.Mode    `json:"mode"`
	Chains  []policy.Chain `json:"chains"`
	Grants  []policy.Grant `json:"grants"`
}

// Policy returns the policy of a session.
func (c *Client) Policy(ctx context.Context, id string) (*Policy, error) {
	return get[Policy](ctx, c, "/v1/sessions/"+segment(id)+"/policy")
}

// PolicyChange is a mode, or path rules for a tool.
type PolicyChange struct {
	Mode  policy.Mode     `json:"mode,omitempty"`
	Patch json.RawMessage `json:"patch,omitempty"` // {tool?, mode, allow?, deny?, default?}
}

// ChangePolicy changes the policy of a session if it is of that version still.
func (c *Client) ChangePolicy(ctx context.Context, id string, version int, p PolicyChange) (*Policy, error) {
	out := new(Policy)
	head := http.Header{"If-Match": {strconv.Quote(strconv.Itoa(version))}}
	_, err := c.exchange(ctx, http.MethodPatch, "/v1/sessions/"+segment(id)+"/policy", head, p, out)
	if err != nil {
		return nil, err
	}
	return out, nil
}

// Grants lists what people decided for a session.
func (c *Client) Grants(ctx context.Context, id string) ([]policy.Grant, error) {
	page, err := get[Page[policy.Grant]](ctx, c, "/v1/sessions/"+segment(id)+"/grants")
	if err != nil {
		return nil, err
	}
	return page.Items, nil
}

// Revoke takes a grant back.
func (c *Client) Revoke(ctx context.Context, id, grant string) error {
	return c.call(ctx, http.MethodDelete, "/v1/sessions/"+segment(id)+"/grants/"+segment(grant), nil, nil)
}

func get[T any](ctx context.Context, c *Client, path string) (*T, error) {
	return do[T](ctx, c, http.MethodGet, path, nil)
}

func do[T any](ctx context.Context, c *Client, method, path string, in any) (*T, error) {
	out := new(T)
	if err := c.call(ctx, method, path, in, out); err != nil {
		return nil, err
	}
	return out, nil
}
