"use strict";
// The copy button, shown only where there is a script to serve it.
(function () {
  var button = document.getElementById("copy");
  var command = document.getElementById("command");
  if (button === null || command === null) return;
  function say(word) {
    button.textContent = word;
    setTimeout(function () { button.textContent = "copy"; }, 1500);
  }
  function select() {
    window.getSelection().selectAllChildren(command);
    say("selected");
  }
  button.hidden = false;
  button.addEventListener("click", function () {
    if (!navigator.clipboard) { select(); return; }
    navigator.clipboard.writeText(command.textContent).then(function () { say("copied"); }, select);
  });
})();
// A link to a violation unfolds it.
(function () {
  function unfold() {
    var target = document.getElementById(location.hash.slice(1));
    if (target instanceof HTMLDetailsElement) { target.open = true; target.scrollIntoView(); }
  }
  addEventListener("hashchange", unfold);
  unfold();
})();
