// A table or a picture that is wider than the window can be scrolled with the keyboard.
document$.subscribe(() => {
  for (const wide of document.querySelectorAll(".md-typeset__scrollwrap, .md-typeset p:has(> img)")) wide.tabIndex = 0;
});
