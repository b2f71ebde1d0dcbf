"""`steelyard run`."""

from steelyard.show.command_line.options import Apps, Only, OutputOptions, PlanOptions, PowerOptions, RunOptions

PLACE = 10


def command(
    *,
    only: Only = None,
    apps: Apps = None,
    asked: PlanOptions,
    sensing: PowerOptions,
    new: RunOptions,
    output: OutputOptions,
) -> None:
    """Measure this machine and show the result: verdict, main figures and the most important findings, and an HTML report.

    Examples: **steelyard run** · **steelyard run --preset standard --all** (everything on the terminal) ·
    **steelyard run --only memory.stream --set threads=1,2 --toolchain gcc --toolchain clang** ·
    **steelyard run --only network --hosts node1:1,node2:1** · **steelyard run --only node --power** (times and energy) ·
    **steelyard run --only network.pingpong --variant 'tcp:OMPI_MCA_btl=tcp,self' --variant 'eth1:--mca btl_tcp_if_include eth1'**
    (the same cases with other settings) ·
    **steelyard run --preset standard --name before-update** · **steelyard run --app hpcc --app mine.toml** (other programs)
    """
    from steelyard.measure.run import session
    from steelyard.show.command_line import conclusion
    from steelyard.show.command_line.progress import Console
    from steelyard.show.command_line.request import add_programs, open_sensors, read_request

    form, screen = output.form, Console(output.quiet)
    sensors = open_sensors(sensing, screen)
    request, further = add_programs(read_request(asked, only, new.wait), apps or [])
    path = session.start(request, new.runs, screen, sensors, new.name)
    conclusion.conclude(path, further, new.report, form, output.strict, screen.working)
