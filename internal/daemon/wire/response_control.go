package wire

import "github.com/holdfast-dev/holdfast/daemon/api"

// Greeting is the hello message of the daemon: it describes the daemon and the caller. It answers a
// client's hello.
type Greeting struct {
	Envelope

	Protocol      int    `json:"protocol" jsonschema:"version of this protocol: 1"`
	DaemonVersion string `json:"daemonVersion" jsonschema:"version of the program"`
	Caller        Caller `json:"caller" jsonschema:"the authenticated client"`
	Limits        Limits `json:"limits" jsonschema:"limits of this connection"`
}

// Caller is the authenticated client.
type Caller struct {
	Name   string       `json:"name" jsonschema:"name of the account or of the token"`
	Via    string       `json:"via,omitempty" jsonschema:"how the client authenticated"`
	Scopes List[string] `json:"scopes" jsonschema:"its scopes: read, run, approve, admin"`
}

// Limits are a connection's limits.
type Limits struct {
	MessageBytes  int `json:"maxMessageBytes" jsonschema:"maximum size of a client message, in bytes"`
	Subscriptions int `json:"maxSubscriptions" jsonschema:"maximum number of subscriptions of the connection"`
	PerSecond     int `json:"messagesPerSecond" jsonschema:"sustained rate of client messages"`
	Burst         int `json:"burst" jsonschema:"number of client messages at once"`
}

// Pong answers ping.
type Pong struct{ Envelope }

// Subscribed answers a subscribe message. It precedes all messages of the run.
type Subscribed struct {
	Envelope

	RunID    string `json:"runId" jsonschema:"the run"`
	AfterSeq int64  `json:"afterSeq" jsonschema:"the messages that follow have a greater seq"`
}

// Unsubscribed answers unsubscribe. No message of the run follows.
type Unsubscribed struct {
	Envelope

	RunID string `json:"runId" jsonschema:"the run"`
}

// CaughtUp reports that all recorded messages were sent. New ones follow.
type CaughtUp struct {
	Envelope

	RunID  string        `json:"runId" jsonschema:"the run"`
	Seq    int64         `json:"seq" jsonschema:"last record processed; use it as afterSeq in the next subscription"`
	Status api.RunStatus `json:"status,omitempty" jsonschema:"status of the run"`
	Mode   string        `json:"mode,omitempty" jsonschema:"the run's permission mode"`
}

// Gap tells a slow client that provisional messages were lost. The client must discard those that
// it has. Recorded messages follow, then [CaughtUp].
type Gap struct {
	Envelope

	RunID string `json:"runId" jsonschema:"the run"`
	Seq   int64  `json:"seq" jsonschema:"last record sent"`
}

// RunList answers list_runs.
type RunList struct {
	Envelope

	Runs       List[api.RunInfo] `json:"runs" jsonschema:"newest first"`
	NextCursor string            `json:"nextCursor,omitempty" jsonschema:"cursor of the next page; omitted on the last page"`
}

// StrategyList answers list_strategies with the runs in memory, as in CommaAgents.
type StrategyList struct {
	Envelope

	Runs List[api.RunInfo] `json:"runs" jsonschema:"prepared, running and waiting runs"`
}

// Error reports a problem with a message. It is the Go error that [Decode] returns; the
// sender sets its TS.
type Error struct {
	Envelope

	Code    Code   `json:"code" jsonschema:"error code"`
	Message string `json:"message" jsonschema:"what is wrong and where"`
	Hint    string `json:"hint,omitempty" jsonschema:"how to fix it"`
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
