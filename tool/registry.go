package tool

import (
	"fmt"
	"slices"
)

// Registry contains the tools of a session by name. It is immutable and therefore safe for
// concurrent use. [Registry.Select] and [Registry.Exclude] return smaller registries. A tool that
// is not in the registry cannot be run through it.
type Registry struct {
	tools  []Tool
	byName map[string]Tool
	other  func(name string) (Tool, bool)
}

// NewRegistry returns a registry of tools in the given order. Two tools with the same name are an error.
func NewRegistry(tools ...Tool) (*Registry, error) {
	r := &Registry{byName: make(map[string]Tool, len(tools))}
	for _, t := range tools {
		name := t.Spec().Name
		if _, taken := r.byName[name]; taken {
			return nil, fmt.Errorf("duplicate tool name %q", name)
		}
		r.byName[name] = t
		r.tools = append(r.tools, t)
	}
	return r, nil
}

// Lookup finds a tool by its exact name.
func (r *Registry) Lookup(name string) (Tool, bool) {
	if r == nil {
		return nil, false
	}
	t, ok := r.byName[name]
	if !ok && r.other != nil {
		return r.other(name)
	}
	return t, ok
}

// WithFallback returns a registry with the tools of this registry. Lookup of any other name calls
// find. The tools that find returns are not offered to a model, which must learn their names in
// another way. find must be safe for concurrent use and accept any name.
func (r *Registry) WithFallback(find func(name string) (Tool, bool)) *Registry {
	out := r.filter(func(string) bool { return true })
	out.other = find
	return out
}

// Tools returns the tools in their order.
func (r *Registry) Tools() []Tool {
	if r == nil {
		return nil
	}
	return slices.Clone(r.tools)
}

// Specs returns the descriptions of the tools in a stable order, because a model's prompt cache depends on
// it.
func (r *Registry) Specs() []Spec {
	specs := make([]Spec, 0, len(r.Tools()))
	for _, t := range r.Tools() {
		specs = append(specs, t.Spec())
	}
	return specs
}

// Select returns a registry that contains only the named tools, in the order of this registry.
// Unknown names are ignored; they never make a tool available.
func (r *Registry) Select(names ...string) *Registry {
	return r.filter(func(name string) bool { return slices.Contains(names, name) })
}

// Exclude returns a registry without the named tools.
func (r *Registry) Exclude(names ...string) *Registry {
	return r.filter(func(name string) bool { return !slices.Contains(names, name) })
}

func (r *Registry) filter(keep func(name string) bool) *Registry {
	out := &Registry{byName: map[string]Tool{}}
	for _, t := range r.Tools() {
		if name := t.Spec().Name; keep(name) {
			out.byName[name] = t
			out.tools = append(out.tools, t)
		}
	}
	return out
}
