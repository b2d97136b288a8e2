package agent

import (
	"context"
	"time"

	"github.com/holdfast-dev/holdfast/approval"
	"github.com/holdfast-dev/holdfast/audit/secret"
	"github.com/holdfast-dev/holdfast/event"
	"github.com/holdfast-dev/holdfast/hook"
	"github.com/holdfast-dev/holdfast/model"
	"github.com/holdfast-dev/holdfast/policy"
	"github.com/holdfast-dev/holdfast/session"
	"github.com/holdfast-dev/holdfast/tool"
	"github.com/holdfast-dev/holdfast/transcript"
)

// Options are the options of [New]. The zero value is valid: no store, no tools, default mode.
type Options struct {
	// Sessions stores the session. If it is nil, the session is kept only in memory.
	Sessions *session.Sessions
	// Session selects the session to resume or describes a new one. Of Session.Opened, only CWD is
	// needed; the agent sets project, branch and model.
	Session session.RestoreOptions
	// NoPersist restores Session but stores nothing in it.
	NoPersist bool
	// NewSession contains records to write before the first turn of this agent, in the same batch
	// as the turn. They describe the run of the turn.
	NewSession []session.Draft
	// Transcript is the initial transcript of an agent without Sessions. Observers are not called
	// for its items.
	Transcript []transcript.Item

	// Model has the options of model calls, and the fallback model.
	Model ModelOptions
	// Limits limits what a run uses.
	Limits Limits
	// Permissions decides what tools may do and who approves.
	Permissions Permissions
	// Hooks run at events of the agent and can intervene.
	Hooks Hooks

	// System is the system prompt. Keep the prompt the same for the life of a session: after a
	// change the provider cannot use its prompt cache.
	System string
	// Instructions are sent to the model before the first input.
	Instructions Instructions
	// Expand expands a prompt that begins with "/". A nil result without an error leaves the prompt
	// unchanged; an error rejects the prompt. A UserPromptExpansion hook can reject it, too.
	Expand func(ctx context.Context, prompt string) (*Expansion, error)
	// Tools are the tools that the model may call; nil means none.
	Tools *tool.Registry
	// Background runs background tasks. If it is nil, every turn waits for its calls.
	Background *Background
	// Subagents are the sub-agents of this agent. The tool that starts them must be in Tools.
	Subagents *Subagents
	// AgentName is the name of the agent in requests and approval requests. Main agents have none.
	AgentName string
	// RestoreDir changes to the current directory of a resumed session, or returns an error with
	// the reason why it cannot. If RestoreDir is nil, a resumed session begins in its folder.
	RestoreDir func(dir string) error
	// EnterDir, if not nil, is called when the session opens, with a context whose [FromContext]
	// is the agent. It changes to the directory in which the session begins. It returns that
	// directory ("" for no change) and a text for the model. An error ends the run before its first
	// turn.
	EnterDir func(ctx context.Context) (dir, text string, err error)
	// OnLeaseLost, if not nil, is called when the session's lease is lost. This happens if the
	// store was unreachable for most of the lease's time, or if another process took over the
	// session. Before it returns, it must end everything that the host runs for the session besides
	// the agent's calls, such as servers.
	OnLeaseLost func(error)
	// Mask masks secrets in everything that is stored, and therefore also in what models read. Nil
	// masks nothing.
	Mask *secret.Masker

	// Compact configures compaction.
	Compact Compact

	// TranscriptObservers get every appended item, in order. They get it after it is durable and
	// before it takes effect. An error stops the loop.
	TranscriptObservers []TranscriptObserver
	// LoopObservers get every event.
	LoopObservers []LoopObserver
	// Mutators can rewrite the transcript between model calls. Sub-agents use the same mutators,
	// possibly at the same time.
	Mutators []Mutator

	parent *Agent // the parent of a sub-agent
	kind   string // the kind of a sub-agent

	// Clock, NewID, Sleep and Rand are for tests; the defaults are the real functions.
	Clock func() time.Time
	NewID func() string
	Sleep func(ctx context.Context, d time.Duration) error
	Rand  func() float64 // in [0,1), for jitter
}

// ModelOptions are the options of model calls.
type ModelOptions struct {
	// Fallback answers for the rest of a turn if the model is still unavailable after all retries.
	Fallback model.Model
	// MaxTokens is the maximum size of one answer; 0 is the adapter's default.
	MaxTokens int
	// Effort is the thinking effort: "", "low", "medium" or "high".
	Effort string
	// Retry configures the retries of failed model calls.
	Retry Retry
}

// Limits limits what a run uses.
type Limits struct {
	// MaxTurns is the maximum number of model calls of one run, and of each of its sub-agents; 0
	// means no limit.
	MaxTurns int
	// MaxBudgetUSD is the budget of the run in US dollars. The budget covers the session since its
	// beginning, including its sub-agents. The budget is recorded and stays in effect: 0 keeps the
	// recorded budget, +Inf removes it. A fork starts with a cost of zero and without a budget. The
	// prices of the models must be known ([model.Info.Priced]). After the budget is used up, no
	// call starts. Calls that run in parallel can exceed the budget by at most one call.
	MaxBudgetUSD float64
	// MaxTotalTokens is the budget of the run in tokens, input and output, with the same rules. A
	// negative value removes it.
	MaxTotalTokens int64
}

// Permissions decides what tools may do and who approves.
type Permissions struct {
	// Config configures the guards of the tools: mode, limits, callback, policies, rules. Now and
	// NewID of Config default to Clock and NewID. A mode other than default is recorded. Without a
	// mode, a resumed session keeps the mode that was set last. The exceptions are
	// bypassPermissions, and plan if the turn was completed.
	Config policy.Config
	// DefaultMode is true if the mode of Config is only the default of all runs, and was not
	// requested for this run. Such a mode is not recorded, and a resumed session keeps its own mode
	// if that is stricter.
	DefaultMode bool
	// Guards replaces Config for a host that has its own guards, such as the guards of a sub-agent
	// ([policy.Guards.Child]). Config must then be zero, and the mode of a resumed session is
	// ignored.
	Guards *policy.Guards
	// Run is the run that this agent shares with other agents. If it is nil, the agent gets a run
	// for its own session. A sub-agent uses the run of its parent.
	Run *Run
	// Ask asks the approver and waits for the answer. It must return when ctx ends: the turn was
	// interrupted, the request expired, or another program answered. If Ask does not return soon,
	// it is abandoned and its answer is ignored. If Ask is nil, no one can approve, and calls that
	// need approval are denied. An error also denies the call, except [approval.ErrSuspend]. With
	// that error the request stays open, and the run ends with an error that wraps it. The run
	// continues when the session is resumed. Sub-agents call Ask concurrently.
	Ask func(ctx context.Context, q approval.Request) (approval.Answer, error)
	// AskTimeout is how long an approval request waits before it is denied; 0 means forever.
	AskTimeout time.Duration
	// Sandbox is the name of the sandbox in approval requests and decisions; "" means no sandbox.
	Sandbox string
	// Profile is the digest of the sandbox profile. Decisions record it
	// ([policy.Decision].Profile). If it is set, Sandbox applies only to calls that are
	// [policy.Request].Confined.
	Profile string
}

// Hooks configures the hooks and what they may do and see.
type Hooks struct {
	// Registry contains the hooks (package hook). Nil runs none. The caller closes it.
	Registry *hook.Registry
	// Watch receives the files that hooks want to watch, as absolute paths. These files replace the
	// earlier ones. The watcher fires FileChanged ([Agent.Fire]). Nil watches nothing.
	Watch func(paths []string) error
	// OnChangeReported, if not nil, is called after hooks were notified of a tool's change of a
	// file.
	OnChangeReported func(path string)
	// Setup is the trigger of the Setup event: "init" or "maintenance" if the user requested it,
	// otherwise "".
	Setup string
	// TranscriptPath is the file from which hooks can read the transcript; "" means no file.
	TranscriptPath string
}

// Retry configures the retries of failed model calls. The delay before retry n, counted from 0, is
// Base·2ⁿ ± 25 %, at most Cap. If the provider asks for a longer delay, that delay is used.
type Retry struct {
	Max  int           // number of retries after the first attempt; default 3, a negative value means none
	Base time.Duration // default 2 s
	Cap  time.Duration // default 30 s
	// After is the longest wait that a provider may ask for; default 60 s. If the provider asks for
	// a longer wait, there is no retry: the fallback model answers, or the turn fails.
	After time.Duration
}

// Compact configures when and how the transcript is compacted. Without Items it needs a model with
// a known context size. The current prompt is always kept, and a tool use is never separated from
// its result.
type Compact struct {
	Disabled      bool
	Context       int     // context size in tokens; default: the context size of the model
	ReserveTokens int     // compact when fewer tokens than this remain free; default 13000, at most a quarter of Context
	Threshold     float64 // also compact when more than this share of the context is used; 0 means never
	Items         int     // also compact when there are more items than this; 0 means never
	KeepTokens    int     // tokens of the newest items that a summary does not replace; default a fifth of Context, at most half of the transcript
	// Steps run in order. The default is one [CompactionStep] that summarizes the older items and
	// keeps KeepTokens.
	Steps []Mutator
}

// TranscriptObserver copies the transcript to another place. It is a persistence primitive of the
// Open Agent SDK.
type TranscriptObserver interface {
	// ItemAppended is called once for each item, in transcript order, on the loop's goroutine. An
	// error stops the loop before the item takes effect.
	ItemAppended(sessionID string, item transcript.Encoded) error
}

// LoopObserver gets the events of the loop. Observe is called on the loop's goroutine and must not
// block.
type LoopObserver interface {
	Observe(sessionID string, e event.Event)
}

// MutatorContext is the input of a mutator.
type MutatorContext struct {
	// TurnEnded is true between turns, before the first model call of a new turn. It is false
	// after tool results, before the model reads them.
	TurnEnded bool

	Items   []transcript.Encoded // the transcript; do not change the slice
	Usage   transcript.Usage     // usage of the last model call
	Context int                  // context size of the model in tokens; 0 if unknown
	NewID   func() string
	// Instructions are the user's instructions for a compaction, or "".
	Instructions string
	// Ask makes a separate model call. Its usage is added to the run.
	Ask func(ctx context.Context, system string, items []transcript.Encoded) (transcript.Item, error)

	trigger  string // the trigger of a compaction
	overhead int    // tokens of a request that are not from its items, if known
}

// Mutator rewrites a transcript: compaction, redaction, repair. The tool uses and tool results that
// it keeps must still form pairs. The items that it returns become one rewrite record, completely
// or not at all, reported as [event.TranscriptRewritten]. If it returns nil or the same items,
// nothing changes.
type Mutator interface {
	Name() string
	Mutate(ctx context.Context, c MutatorContext) ([]transcript.Encoded, error)
}
