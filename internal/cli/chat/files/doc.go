// Package files finds the files of a project that a user can mention in a prompt with @.
package files
