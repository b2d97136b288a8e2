// Package pager is a page that scrolls, folds its sections and finds text. It is for the alternate
// screen, reads no keys and knows no terminal.
package pager
