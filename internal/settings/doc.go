// Package settings reads settings files in layers and builds the parts below from
// them: rules, mode, limits, the sandbox's settings. Every value keeps the file and
// line it came from.
//
//	managed > flag > local > project > user ─► Settings (each value with its origin) ─► policy.Config
//	                     └────┬────┘
//	                    folder trust: what a folder brings along may forbid and ask
//	                    at once, and may allow when a person has trusted it
//
// Of the strongest layer that names a single value (the mode) that one counts;
// lists (rules, folders, forbidden globs) are joined; a sandbox block of any layer
// restricts by itself, so none can loosen another's.
//
//	s, err := settings.Load(&settings.Options{Home: home, User: user, Cwd: dir})
//	config, err := s.Policy()
//
// A file that cannot be read, a key that nobody knows and a value that cannot work
// refuse the load with an [*Error] that names file, line and column. It is never
// "nothing configured, so allow".
package settings
