package image

// Start is for the tests that use package testimage, which uses this one.
var Start = start
