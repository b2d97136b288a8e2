// Command persistence stores an agent's transcript in a database of the program, without package
// session.
//
//	Options.Transcript            ◄── Store.Load      at the start
//	TranscriptObserver            ──► Store.Append    each item, in order, before the model sees it
//	TranscriptRewritten, Snapshot ──► Store.Replace   after a compaction or a repair
//
// Run it twice: the second run continues the session.
//
//	go run ./examples/persistence --session notes "remember the number 7"
//	go run ./examples/persistence --session notes "which number was it?"
//
// A program without a database of its own sets Sessions in [agent.Options] instead. Sessions also
// store decisions, approval requests and interrupted tool calls.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"

	"github.com/holdfast-dev/holdfast/agent"
	"github.com/holdfast-dev/holdfast/event"
	"github.com/holdfast-dev/holdfast/model"
	"github.com/holdfast-dev/holdfast/model/scripted"
	"github.com/holdfast-dev/holdfast/transcript"
)

func main() {
	session := flag.String("session", "default", "the session to start or resume")
	db := flag.String("db", "transcripts.db", "the database")
	flag.Parse()
	if err := run(context.Background(), *db, *session, flag.Arg(0)); err != nil {
		fmt.Fprintln(os.Stderr, "persistence:", err)
		os.Exit(1)
	}
}

// run runs one turn of a session.
func run(ctx context.Context, db, session, prompt string) error {
	store, err := NewStore(ctx, db)
	if err != nil {
		return err
	}
	defer store.Close()
	m, err := scripted.New([]byte(`steps: [{text: It is noted.}, {text: That is noted as well.}]`), nil) // takes the place of a model
	if err != nil {
		return err
	}
	k, err := NewPersistentAgent(ctx, store, session, m, nil)
	if err != nil {
		return err
	}
	defer k.Agent.Close()
	fmt.Printf("session %s has %d items\n", session, k.Restored)
	if prompt == "" {
		return nil
	}
	text, err := k.Prompt(ctx, prompt)
	fmt.Println(text)
	return err
}

// PersistentAgent is an agent whose transcript is stored in a [Store].
type PersistentAgent struct {
	Agent    *agent.Agent
	Restored int // items that were loaded

	store   *Store
	session string
	dirty   bool // the transcript was rewritten and not yet stored
}

// NewPersistentAgent returns an agent that resumes a stored session. The caller closes the agent. o may be nil;
// NewPersistentAgent sets its Transcript and observers.
func NewPersistentAgent(ctx context.Context, store *Store, session string, m model.Model, o *agent.Options) (*PersistentAgent, error) {
	prior, err := store.Load(ctx, session)
	if err != nil {
		return nil, err
	}
	k := &PersistentAgent{Restored: len(prior), store: store, session: session}
	var opt agent.Options
	if o != nil {
		opt = *o
	}
	opt.Transcript = prior
	opt.TranscriptObservers = []agent.TranscriptObserver{k}
	opt.LoopObservers = []agent.LoopObserver{k}
	k.Agent, err = agent.New(m, &opt)
	return k, err
}

// ItemAppended implements [agent.TranscriptObserver]: it stores an item before the model sees it.
func (k *PersistentAgent) ItemAppended(_ string, item transcript.Encoded) error {
	ctx := context.Background()
	if err := k.resync(ctx); err != nil {
		return err
	}
	return k.store.Append(ctx, k.session, item)
}

// Observe implements [agent.LoopObserver].
func (k *PersistentAgent) Observe(_ string, e event.Event) {
	if _, ok := e.(event.TranscriptRewritten); ok {
		k.dirty = true
	}
}

// Prompt runs one turn and returns the model's answer.
func (k *PersistentAgent) Prompt(ctx context.Context, text string) (string, error) {
	d := k.Agent.Driver(nil)
	if err := d.Submit(ctx, transcript.Text{Text: text}); err != nil {
		return "", err
	}
	for {
		step, err := k.Next(ctx, d)
		if err != nil {
			return "", err
		}
		switch {
		case step.Result != nil:
			return step.Result.Text, nil
		case len(step.Approvals) > 0:
			return "", fmt.Errorf("%s needs an approval, and the program has no approver", step.Approvals[0].Tool)
		}
	}
}

// Next runs the driver to its next state and stores a rewritten transcript.
func (k *PersistentAgent) Next(ctx context.Context, d *agent.Driver) (agent.DriverState, error) {
	step, err := d.Next(ctx)
	return step, errors.Join(err, k.resync(ctx))
}

// resync replaces the stored transcript after a rewrite.
func (k *PersistentAgent) resync(ctx context.Context) error {
	if !k.dirty {
		return nil
	}
	if err := k.store.Replace(ctx, k.session, k.Agent.Snapshot().Items); err != nil {
		return err
	}
	k.dirty = false
	return nil
}
