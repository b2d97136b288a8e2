// Package settings reads settings files in layers and builds from them what runs need: rules, mode,
// limits, the sandbox's settings. Every value keeps the file and line it came from.
//
//	managed > flag > local > project > user ─► Settings (each value with its origin) ─► policy.Config
//	                     └────┬────┘
//	                    folder trust: a folder's settings may deny and ask
//	                    at once, and may allow after the user trusts it
//
// A single value (the mode) comes from the strongest layer that sets it. Lists (rules, folders,
// forbidden globs) are combined. Each layer's sandbox block restricts on its own, so no layer can
// loosen the block of another.
//
//	s, err := settings.Load(&settings.Options{Home: home, User: user, Cwd: dir})
//	config, err := s.Policy()
//
// An unreadable file, an unknown key or an invalid value makes the load fail with an [*Error] that
// names file, line and column. It is never treated as "not configured, so allowed".
package settings
