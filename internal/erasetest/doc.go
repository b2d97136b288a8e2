// Package erasetest stores a word in every place by using the program as a user does, erases
// it, and searches for it in the bytes of everything that is left. It contains only tests.
package erasetest
