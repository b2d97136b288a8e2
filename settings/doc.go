// Package settings reads settings files in layers and builds the parts below from
// them: rules, modes, the sandbox checker. Every value keeps the file and line it
// came from.
//
//	managed > flag > local > project > user ─► Settings (each value with its origin) ─► policy.Config, sandbox.Settings
//
// A field that nobody knows, or that cannot work, refuses the load. What a folder
// brings along (project and local settings) may forbid and ask at once, and may
// allow only when a person has trusted the folder.
//
//	s, err := settings.Load(&settings.Options{Home: home, Project: dir})
//	config, err := s.Policy()
package settings
