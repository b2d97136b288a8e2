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

// Options adjusts [New]. The zero value works: no store, no tools, mode default.
type Options struct {
	// Sessions is where the session is kept. Nil keeps it in memory only.
	Sessions *session.Sessions
	// Session says which session to go on with and describes a new one. Of
	// Session.Opened, CWD is enough: project, branch and model are filled in.
	Session session.RestoreOptions
	// NoPersist restores Session but writes nothing to it.
	NoPersist bool
	// NewSession are records that go before the first turn that the agent opens, in one batch
	// with it: what the run is that the turn belongs to.
	NewSession []session.Draft
	// Transcript is where an agent without Sessions starts. Observers are not
	// called for these items.
	Transcript []transcript.Item

	// Model says how models are called, and which one answers in the place of the first.
	Model ModelOptions
	// Limits bound what a run uses.
	Limits Limits
	// Permissions say what tools may do, and who is asked.
	Permissions Permissions
	// Hooks are told what happens and may intervene.
	Hooks Hooks

	// System is the system prompt. Keep it the same over a session's life:
	// changing it makes the provider read everything again.
	System string
	// Instructions are told to the model before the first input.
	Instructions Instructions
	// Expand says what a prompt that begins with "/" stands for; nil without an error is
	// itself, and an error keeps it from being taken. A UserPromptExpansion hook may, too.
	Expand func(ctx context.Context, prompt string) (*Expansion, error)
	// Tools are what the model may call; nil means none.
	Tools *tool.Registry
	// Background takes the calls that go on when their turn does not wait for them; nil:
	// every turn waits.
	Background *Background
	// Subagents are whom the agent may give work to; their tool is to be among Tools.
	Subagents *Subagents
	// AgentName is what the agent is called in requests and questions. Main agents have none.
	AgentName string
	// RestoreDir goes back to the current directory in which a resumed session was; an error
	// says why that is not possible. Nil: a session begins in its folder.
	RestoreDir func(dir string) error
	// EnterDir, when not nil, is called when the session is opened, with a context of which [FromContext]
	// is the agent: it goes where the session begins, and returns that directory ("": it is
	// there) and what the model is told of it. An error ends the run before it begins.
	EnterDir func(ctx context.Context) (dir, told string, err error)
	// OnLeaseLost, when not nil, is called when the session's lease is lost, whenever that
	// happens: the store could not be reached for most of the lease's time, or somebody has
	// taken the session over. It ends what the host runs for the session beside the agent's
	// calls, such as servers, and returns when that has ended.
	OnLeaseLost func(error)
	// Mask masks secrets in everything that is written down, and so in what models
	// read; nil masks nothing.
	Mask *secret.Masker

	// Compact says when a long transcript is summarised.
	Compact Compact

	// TranscriptObservers see every appended item, in order, after it is
	// durable and before it counts. An error stops the loop.
	TranscriptObservers []TranscriptObserver
	// LoopObservers see every event.
	LoopObservers []LoopObserver
	// Mutators may rewrite the transcript between model calls. They are its sub-agents', too,
	// which work at the same time.
	Mutators []Mutator

	parent *Agent // whom a sub-agent works for
	kind   string // of a sub-agent

	// Clock, NewID, Sleep and Rand are for tests; the defaults are the real ones.
	Clock func() time.Time
	NewID func() string
	Sleep func(ctx context.Context, d time.Duration) error
	Rand  func() float64 // in [0,1), for jitter
}

// ModelOptions say how models are called.
type ModelOptions struct {
	// Fallback answers for the rest of a turn when the model stays unavailable
	// after all retries.
	Fallback model.Model
	// MaxTokens bounds one answer; 0 is the adapter's default.
	MaxTokens int
	// Effort is how much to think: "", "low", "medium" or "high".
	Effort string
	// Retry says how often and how patiently a failed model call is repeated.
	Retry Retry
}

// Limits bound what a run uses.
type Limits struct {
	// MaxTurns bounds the model calls of one run, and of each of its sub-agents; 0 means no bound.
	MaxTurns int
	// MaxBudgetUSD bounds what the run costs: the session, from its beginning, with all that
	// work for it. It is on record and holds until it is changed: 0 leaves what was said before,
	// +Inf lifts it. A fork begins at zero and without a bound. The models' prices have to be
	// known ([model.Info.Priced]). No call begins once it is used up, and those that run side by side
	// go beyond it by one call at most.
	MaxBudgetUSD float64
	// MaxTotalTokens bounds the tokens of the run likewise, input and output; less than 0
	// lifts it.
	MaxTotalTokens int64
}

// Permissions say what tools may do, and who is asked.
type Permissions struct {
	// Config is what the guards of the tools are made from: mode, limits,
	// callback, policies, rules. Its Now and NewID default to Clock and NewID. A mode
	// that is not default is on record; with no mode a resumed session goes on in the
	// mode it was last set to, unless that was bypassPermissions, or plan in a turn
	// that came to its end.
	Config policy.Config
	// DefaultMode says that the mode of Config is that of every run, and nobody has
	// asked for it this time: it is not on record, and a resumed session goes on in its own
	// mode where that is stricter.
	DefaultMode bool
	// Guards are used instead by a host that brings its own, a sub-agent's for
	// example ([policy.Guards.Child]); Config must be zero then, and the mode of
	// a resumed session is not looked at.
	Guards *policy.Guards
	// Run is what decides for the session that the agent works for, with others; nil: its own
	// session's. A sub-agent has its parent's.
	Run *Run
	// Ask puts a question to a person and waits. It returns when ctx ends: the turn
	// was interrupted, time is up, or somebody has answered elsewhere; one that does
	// not return soon is left behind, and its answer counts for nothing. Nil means that
	// nobody is there: nothing is asked and the answer is no. An error is a no too,
	// but [approval.ErrSuspend] leaves the question open: the run ends with an error
	// that wraps it, and goes on when the session is resumed. Sub-agents ask at the same
	// time as each other.
	Ask func(ctx context.Context, q approval.Request) (approval.Answer, error)
	// AskTimeout is how long a question waits before the answer is no; 0 is for ever.
	AskTimeout time.Duration
	// Sandbox says in questions and decisions what would hold a call; "" is nothing.
	Sandbox string
	// Profile is the digest of what the sandbox holds calls to, for decisions. With
	// one, Sandbox is said of the calls that are [policy.Request].Confined only.
	Profile string
}

// Hooks say which hooks there are, and what they may do and see.
type Hooks struct {
	// Registry has the hooks (package hook); nil: nobody is told. The caller closes it.
	Registry *hook.Registry
	// Watch is given the files that hooks want to hear of, absolute, in place of those that
	// they named before; whoever watches them fires FileChanged ([Agent.Fire]). Nil:
	// nothing watches files.
	Watch func(paths []string) error
	// OnChangeReported is told of a file of whose change by a tool hooks have just heard; may be nil.
	OnChangeReported func(path string)
	// Setup is the trigger of the Setup event: "init" or "maintenance" when the person
	// asked for it, "" otherwise.
	Setup string
	// TranscriptPath names a file that hooks may read the transcript from; "" is none.
	TranscriptPath string
}

// Retry is how a retryable model error is retried. The delay before attempt n
// is Base·2ⁿ ± 25 %, at most Cap, or what the provider asked for.
type Retry struct {
	Max  int           // retries after the first attempt; default 3, negative for none
	Base time.Duration // default 2 s
	Cap  time.Duration // default 30 s
	// After is the longest wait that a provider may ask for; default 60 s. One that asks for
	// more is not asked again: the fallback model answers, or the turn fails.
	After time.Duration
}

// Compact is when and how the transcript is made smaller. Without Items it needs a model
// whose context size is known. The prompt that is being answered and whole pairs of tool
// uses and results always stay.
type Compact struct {
	Disabled      bool
	Context       int     // tokens; default the model's
	ReserveTokens int     // compact when fewer tokens than this are left; default 13000
	Threshold     float64 // and when more than this share of the context is used; 0: never
	Items         int     // and when there are more items than this; 0: never
	KeepTokens    int     // tokens of the newest items that a summary leaves; default a fifth of Context, at most half of what there is
	// Steps make it smaller, one after the other; default a [CompactionStep] that summarises and leaves Keep.
	Steps []Mutator
}

// TranscriptObserver mirrors the transcript elsewhere (seed 001).
type TranscriptObserver interface {
	// ItemAppended is called once for each item, in transcript order, on the
	// loop's goroutine. An error stops the loop before the item counts.
	ItemAppended(sessionID string, item transcript.Encoded) error
}

// LoopObserver watches the loop. Observe is called on the loop's goroutine and
// must not block.
type LoopObserver interface {
	Observe(sessionID string, e event.Event)
}

// MutatorContext is what a mutator gets to see and use.
type MutatorContext struct {
	// TurnEnded: it runs between turns, before a new turn's first model call. Otherwise it
	// runs after tool results, before the model sees them.
	TurnEnded bool

	Items   []transcript.Encoded // the transcript; do not change the slice
	Usage   transcript.Usage     // of the last model call
	Context int                  // tokens the model can see; 0 when unknown
	NewID   func() string
	// Instructions are what a person wants of a compaction, or "".
	Instructions string
	// Ask makes a model call of its own whose usage counts towards the run.
	Ask func(ctx context.Context, system string, items []transcript.Encoded) (transcript.Item, error)

	trigger  string // of a compaction
	overhead int    // tokens of a request besides the items, as far as it is known
}

// Mutator rewrites a transcript: compaction, redaction, repair. What it returns
// must keep the pairing rule; it becomes one rewrite record, all or nothing,
// and is announced as [event.TranscriptRewritten]. Returning nil, or the same items,
// changes and announces nothing.
type Mutator interface {
	Name() string
	Mutate(ctx context.Context, c MutatorContext) ([]transcript.Encoded, error)
}
