// Show every part.
async function main() {
  const status = document.getElementById("status");
  if (!window.DecompressionStream) {
    status.textContent = "This browser is too old: it cannot decompress the page's data (DecompressionStream).";
    return;
  }
  const report = await readDocument();
  const history = new History(report);
  const calls = new Calls(report, history);
  const timeline = new Timeline(report, history);
  const flame = new Flame(report);
  profileTable(report.profile);
  const coverage = new CoverageView(report);
  // For the browser's console.
  window.report = { report, history, calls, timeline, flame, coverage };
  status.textContent = "";
}

main().catch((error) => {
  document.getElementById("status").textContent = "The page cannot be shown: " + error.message;
});
