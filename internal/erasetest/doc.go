// Package erasetest plants a word everywhere by real use of the program, erases it, and looks
// for it in the bytes of everything that is left. It has tests only.
package erasetest
