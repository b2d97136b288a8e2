package wire

import "github.com/holdfast-dev/holdfast/daemon/api"

// Greeting is hello: what the daemon is and who it takes the client for. It answers
// hello.
type Greeting struct {
	Envelope

	Protocol      int    `json:"protocol" jsonschema:"version of this protocol: 1"`
	DaemonVersion string `json:"daemonVersion" jsonschema:"version of the program"`
	Caller        Caller `json:"caller" jsonschema:"who the daemon takes the client for"`
	Limits        Limits `json:"limits" jsonschema:"what this connection may do"`
}

// Caller is who a client is.
type Caller struct {
	Name   string       `json:"name" jsonschema:"name of the account or of the token"`
	Via    string       `json:"via,omitempty" jsonschema:"how it got in, in words"`
	Scopes List[string] `json:"scopes" jsonschema:"what it may: read, run, approve, admin"`
}

// Limits are a connection's limits.
type Limits struct {
	MessageBytes  int `json:"maxMessageBytes" jsonschema:"bytes of a message of the client"`
	Subscriptions int `json:"maxSubscriptions" jsonschema:"runs that one connection follows at once"`
	PerSecond     int `json:"messagesPerSecond" jsonschema:"messages of the client, for long"`
	Burst         int `json:"burst" jsonschema:"messages of the client, at once"`
}

// Pong answers ping.
type Pong struct{ Envelope }

// Subscribed answers subscribe, before anything of the run is told.
type Subscribed struct {
	Envelope

	RunID    string `json:"runId" jsonschema:"the run"`
	AfterSeq int64  `json:"afterSeq" jsonschema:"the messages that follow have greater seqs"`
}

// Unsubscribed answers unsubscribe: nothing of the run follows.
type Unsubscribed struct {
	Envelope

	RunID string `json:"runId" jsonschema:"the run"`
}

// CaughtUp tells that everything on record was told: what follows happens now.
type CaughtUp struct {
	Envelope

	RunID  string        `json:"runId" jsonschema:"the run"`
	Seq    int64         `json:"seq" jsonschema:"the last record that was told or had nothing to tell: an afterSeq for the next subscription"`
	Status api.RunStatus `json:"status,omitempty" jsonschema:"the run's"`
	Mode   string        `json:"mode,omitempty" jsonschema:"the run's permission mode"`
}

// Gap tells a slow client that provisional messages were lost: what was provisional
// is void. What is on record follows, then [CaughtUp].
type Gap struct {
	Envelope

	RunID string `json:"runId" jsonschema:"the run"`
	Seq   int64  `json:"seq" jsonschema:"the last record that was told"`
}

// RunList answers list_runs.
type RunList struct {
	Envelope

	Runs       List[api.RunInfo] `json:"runs" jsonschema:"newest first"`
	NextCursor string            `json:"nextCursor,omitempty" jsonschema:"for the next page; left out on the last one"`
}

// StrategyList answers list_strategies: the runs in memory, as in the seed.
type StrategyList struct {
	Envelope

	Runs List[api.RunInfo] `json:"runs" jsonschema:"runs that are prepared, run or wait"`
}

// Error tells what was wrong with a message. As a Go error it is what [Decode] and
// [ParseMessage] return; its TS is set by whoever sends it.
type Error struct {
	Envelope

	Code    Code   `json:"code" jsonschema:"for programs"`
	Message string `json:"message" jsonschema:"for people: what is wrong, and where"`
	Hint    string `json:"hint,omitempty" jsonschema:"for people: what to do about it"`
	RunID   string `json:"runId,omitempty" jsonschema:"the run that the message was about"`
}

func (e *Error) Error() string { return e.Message }

// Type implements [Message].
func (*Greeting) Type() string { return "hello" }

// Type implements [Message].
func (*Pong) Type() string { return "pong" }

// Type implements [Message].
func (*Subscribed) Type() string { return "subscribed" }

// Type implements [Message].
func (*Unsubscribed) Type() string { return "unsubscribed" }

// Type implements [Message].
func (*CaughtUp) Type() string { return "caught_up" }

// Type implements [Message].
func (*Gap) Type() string { return "gap" }

// Type implements [Message].
func (*RunList) Type() string { return "run_list" }

// Type implements [Message].
func (*StrategyList) Type() string { return "strategy_list" }

// Type implements [Message].
func (*Error) Type() string { return "error" }
