package hook

import "context"

type registry struct{}

func newRegistry(*Options) *Registry { return &Registry{} }

func (r *registry) register([]Definition) error { return &Error{What: "not built"} }
func (r *registry) has(Event) bool              { return false }
func (r *registry) hooks() []Definition         { return nil }
func (r *registry) late() []Outcome             { return nil }
func (r *registry) close() error                { return nil }

func (r *registry) fire(context.Context, Input) Outcome { return Outcome{} }
